import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/** What every broker's own Java client can do; each class beside this one does it for one of them. */
interface Client extends AutoCloseable {
    /** A topic with one partition, or a queue: whatever a message is sent to. */
    void create(String topic) throws Exception;

    /** Hand over messages, in the way that is best for so many; done when the server has confirmed. */
    CompletableFuture<Void> send(String topic, List<byte[]> bodies) throws Exception;

    /** Give each message of a topic, the first one first, to `each`, until the result is closed. */
    AutoCloseable read(String topic, Consumer<byte[]> each) throws Exception;

    static Client of(Map<String, String> settings) throws Exception {
        return switch (settings.get("kind")) {
            case "kafka" -> new KafkaClient(settings);
            case "rabbitmq" -> new RabbitClient(settings);
            case "nats" -> new NatsClient(settings);
            case "redis" -> new RedisClient(settings);
            case "artemis" -> new ArtemisClient(settings);
            case "rocketmq" -> new RocketClient(settings);
            default -> throw new IllegalArgumentException("no client for " + settings);
        };
    }
}
