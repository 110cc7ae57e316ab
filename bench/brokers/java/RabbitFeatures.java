import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Of RabbitMQ. */
class RabbitFeatures {
    private final RabbitClient client;

    RabbitFeatures(Map<String, String> settings) throws Exception {
        client = new RabbitClient(settings);
    }

    Map<String, Features.Trial> trials() {
        return Map.of(
            "priority", this::priority,
            "delay", this::delay,
            "acknowledge-one", this::acknowledgeOne,
            "dead-letters", this::deadLetters,
            "transactions", this::transactions,
            "replay", this::replay);
    }

    private static void put(Channel channel, String queue, String text, int priority)
        throws Exception {
        var about = new BasicProperties.Builder().priority(priority).build();
        channel.basicPublish("", queue, about, text.getBytes(StandardCharsets.UTF_8));
    }

    private static String take(Channel channel, String queue) throws Exception {
        var found = channel.basicGet(queue, true);
        return found == null ? "" : new String(found.getBody(), StandardCharsets.UTF_8);
    }

    private Channel queue(String name, Map<String, Object> arguments) throws Exception {
        Connection connection = client.connect();
        var channel = connection.createChannel();
        channel.queueDeclare(name, true, false, false, arguments);
        return channel;
    }

    private boolean priority() throws Exception {
        var channel = queue("priority", Map.of("x-max-priority", 10));
        put(channel, "priority", "low", 1);
        put(channel, "priority", "high", 9);
        Features.within(() -> channel.messageCount("priority") == 2);
        return take(channel, "priority").equals("high");
    }

    /** By a time to live, after which the message goes to another queue. */
    private boolean delay() throws Exception {
        Map<String, Object> later = Map.of(
            "x-message-ttl", 1000, "x-dead-letter-exchange", "",
            "x-dead-letter-routing-key", "delayed");
        var channel = queue("delayed", Map.of());
        put(queue("delay", later), "delay", "later", 0);
        var early = take(channel, "delayed");
        return early.isEmpty() && Features.within(() -> take(channel, "delayed").equals("later"));
    }

    private boolean acknowledgeOne() throws Exception {
        var channel = queue("one", Map.of());
        put(channel, "one", "first", 0);
        put(channel, "one", "second", 0);
        Features.within(() -> channel.messageCount("one") == 2);
        channel.basicGet("one", false);
        channel.basicAck(channel.basicGet("one", false).getEnvelope().getDeliveryTag(), false);
        channel.getConnection().close();
        var again = queue("one", Map.of());
        Features.within(() -> again.messageCount("one") == 1);
        return take(again, "one").equals("first") && take(again, "one").isEmpty();
    }

    private boolean deadLetters() throws Exception {
        Map<String, Object> dead = Map.of(
            "x-dead-letter-exchange", "", "x-dead-letter-routing-key", "dead");
        var letters = queue("dead", Map.of());
        var channel = queue("rejecting", dead);
        put(channel, "rejecting", "bad", 0);
        Features.within(() -> channel.messageCount("rejecting") == 1);
        var tag = channel.basicGet("rejecting", false).getEnvelope().getDeliveryTag();
        channel.basicReject(tag, false);
        return Features.within(() -> take(letters, "dead").equals("bad"));
    }

    private boolean transactions() throws Exception {
        var channel = queue("transactions", Map.of());
        channel.txSelect();
        put(channel, "transactions", "rolled back", 0);
        channel.txRollback();
        put(channel, "transactions", "committed", 0);
        channel.txCommit();
        return take(channel, "transactions").equals("committed");
    }

    /** In a queue of the type "stream", which keeps what was read. */
    private boolean replay() throws Exception {
        var channel = queue("stream", Map.of("x-queue-type", "stream"));
        put(channel, "stream", "kept", 0);
        return streamed() && streamed();
    }

    private boolean streamed() throws Exception {
        var channel = client.connect().createChannel();
        channel.basicQos(10);
        var came = new CountDownLatch(1);
        channel.basicConsume("stream", false, Map.of("x-stream-offset", "first"), (tag, message) -> {
            channel.basicAck(message.getEnvelope().getDeliveryTag(), false);
            came.countDown();
        }, tag -> { });
        var found = came.await(10, TimeUnit.SECONDS);
        channel.getConnection().close();
        return found;
    }
}
