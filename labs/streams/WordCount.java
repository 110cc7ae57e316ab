// Kafka Streams' WordCount: java WordCount BOOTSTRAP APPLICATION INPUT OUTPUT GUARANTEE STATE
//
// Each record of INPUT is a line of words. OUTPUT gets a record for each word whose count has
// changed: the word as key, its count as text. STATE is the directory of the state store.

import java.util.Arrays;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.KStream;

public class WordCount {
    public static void main(String[] arguments) {
        Properties settings = new Properties();
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, arguments[0]);
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, arguments[1]);
        settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, arguments[4]);
        settings.put(StreamsConfig.STATE_DIR_CONFIG, arguments[5]);
        settings.put(StreamsConfig.REPLICATION_FACTOR_CONFIG, 3);
        settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 200);
        settings.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.String().getClass());
        settings.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.String().getClass());
        settings.put("producer.acks", "all");  // by default 1: a leader that dies loses records
        settings.put("auto.offset.reset", "earliest");
        settings.put("session.timeout.ms", 6000);
        settings.put("heartbeat.interval.ms", 1000);
        settings.put("request.timeout.ms", 10000);

        StreamsBuilder builder = new StreamsBuilder();
        KStream<String, String> lines = builder.stream(arguments[2]);
        lines.flatMapValues(line -> Arrays.asList(line.split(" ")))
            .groupBy((key, word) -> word)
            .count()
            .toStream()
            .mapValues(count -> count.toString())
            .to(arguments[3]);

        KafkaStreams streams = new KafkaStreams(builder.build(), settings);
        streams.setStateListener((now, before) -> System.err.println("state " + now));
        Runtime.getRuntime().addShutdownHook(new Thread(streams::close));
        streams.start();
    }
}
