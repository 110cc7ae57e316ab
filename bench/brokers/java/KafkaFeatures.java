import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Of Apache Kafka 2.8 and the engine. Its client has no priority, delay, or dead letters. */
class KafkaFeatures {
    private final Map<String, String> settings;
    private final Map<String, Object> at;

    KafkaFeatures(Map<String, String> settings) {
        this.settings = settings;
        at = Map.of("bootstrap.servers", settings.get("address"));
    }

    Map<String, Features.Trial> trials() {
        return Map.of(
            "transactions", this::transactions,
            "replay", () -> Features.replay(settings),
            "compaction", this::compaction);
    }

    private void create(String topic, Map<String, String> config) throws Exception {
        try (var admin = Admin.create(at)) {
            admin.createTopics(List.of(new NewTopic(topic, 1, (short) 1).configs(config))).all().get();
        }
    }

    private KafkaProducer<String, String> producer(Map<String, Object> more) {
        var config = new HashMap<>(at);
        config.putAll(more);
        return new KafkaProducer<>(config, new StringSerializer(), new StringSerializer());
    }

    private List<String> values(String topic) {
        var config = new HashMap<>(at);
        config.put("isolation.level", "read_committed");
        var strings = new StringDeserializer();
        try (var consumer = new KafkaConsumer<String, String>(config, strings, strings)) {
            var partition = new TopicPartition(topic, 0);
            consumer.assign(List.of(partition));
            consumer.seekToBeginning(List.of(partition));
            long end = consumer.endOffsets(List.of(partition)).get(partition);
            var found = new ArrayList<String>();
            while (consumer.position(partition) < end) {
                consumer.poll(Duration.ofMillis(200)).forEach(it -> found.add(it.value()));
            }
            return found;
        }
    }

    private boolean transactions() throws Exception {
        create("transactions", Map.of());
        try (var producer = producer(Map.of("transactional.id", "trial"))) {
            producer.initTransactions();
            producer.beginTransaction();
            producer.send(new ProducerRecord<>("transactions", "aborted")).get();
            producer.abortTransaction();
            producer.beginTransaction();
            producer.send(new ProducerRecord<>("transactions", "committed")).get();
            producer.commitTransaction();
        }
        return Features.within(() -> values("transactions").equals(List.of("committed")));
    }

    /** Fifty values of one key, in many segments: some are gone after a while, the last is not. */
    private boolean compaction() throws Exception {
        var small = Map.of("cleanup.policy", "compact", "segment.ms", "50");
        var soon = new HashMap<>(small);
        soon.put("min.cleanable.dirty.ratio", "0.01");
        create("compaction", soon);
        try (var producer = producer(Map.of())) {
            for (int each = 0; each < 50; each++) {
                producer.send(new ProducerRecord<>("compaction", "key", "" + each)).get();
                Thread.sleep(10); // a segment is 50 ms long
            }
        }
        return Features.within(() -> {
            var left = values("compaction");
            return left.size() < 50 && left.get(left.size() - 1).equals("49");
        });
    }
}
