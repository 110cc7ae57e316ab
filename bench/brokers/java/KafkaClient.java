import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Apache Kafka and the engine: kafka-clients. Settings: address, acks, linger, replicas, sent. */
class KafkaClient implements Client {
    private final Map<String, String> settings;
    private final KafkaProducer<byte[], byte[]> producer;
    private Admin admin; // made when a topic is created

    KafkaClient(Map<String, String> settings) {
        this.settings = settings;
        var config = at();
        config.put("acks", settings.getOrDefault("acks", "all"));
        config.put("linger.ms", settings.getOrDefault("linger", "0"));
        config.put("enable.idempotence", "false");
        config.put("max.block.ms", "5000");
        config.put("request.timeout.ms", "5000");
        config.put("delivery.timeout.ms", settings.getOrDefault("delivery", "60000"));
        config.put("reconnect.backoff.max.ms", "200");
        producer = new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer());
    }

    private Map<String, Object> at() {
        return new HashMap<>(Map.of("bootstrap.servers", settings.get("address")));
    }

    @Override
    public void create(String topic) throws Exception {
        var replicas = Short.parseShort(settings.getOrDefault("replicas", "1"));
        var wanted = new NewTopic(topic, 1, replicas);
        wanted.configs(Map.of("min.insync.replicas", settings.getOrDefault("least", "1")));
        if (admin == null) {
            admin = Admin.create(at());
        }
        admin.createTopics(List.of(wanted)).all().get();
        for (int tries = 0; producer.partitionsFor(topic).get(0).leader() == null; tries++) {
            if (tries > 200) {
                throw new IllegalStateException(topic + " has no leader");
            }
            Thread.sleep(50);
        }
    }

    @Override
    public CompletableFuture<Void> send(String topic, List<byte[]> bodies) {
        var pending = new Pending(bodies.size());
        for (var body : bodies) {
            producer.send(
                new ProducerRecord<>(topic, 0, null, body),
                (where, error) -> pending.confirm(error));
        }
        return pending;
    }

    @Override
    public AutoCloseable read(String topic, Consumer<byte[]> each) {
        var config = at();
        config.put("fetch.max.wait.ms", "100");
        config.put("max.poll.records", "10000");
        config.put("enable.auto.commit", "false");
        var bytes = new ByteArrayDeserializer();
        var consumer = new KafkaConsumer<byte[], byte[]>(config, bytes, bytes);
        var partition = new TopicPartition(topic, 0);
        consumer.assign(List.of(partition));
        consumer.seekToBeginning(List.of(partition));
        return new Reading(
            () -> consumer.poll(Duration.ofMillis(100)).forEach(it -> each.accept(it.value())),
            consumer);
    }

    @Override
    public void close() {
        producer.close(Duration.ofMillis(500));
        if (admin != null) {
            admin.close(Duration.ofMillis(500));
        }
    }
}
