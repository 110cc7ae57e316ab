import java.util.Map;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * For each system, what can be tried.
 *
 * <p>The answer is yes, no, none (there is nothing for it in the client), or untried.
 */
class Features {
    static final int PATIENCE = 40; // seconds for what a server does in the background

    static final Set<String> UNTRIED = Set.of("rocketmq compaction"); // it runs every 15 minutes

    interface Trial {
        boolean works() throws Exception;
    }

    static Map<String, Trial> of(Map<String, String> settings) throws Exception {
        return switch (settings.get("kind")) {
            case "kafka" -> new KafkaFeatures(settings).trials();
            case "rabbitmq" -> new RabbitFeatures(settings).trials();
            case "artemis" -> new ArtemisFeatures(settings).trials();
            case "rocketmq" -> new RocketFeatures(settings).trials();
            default -> Map.of();
        };
    }

    static String tried(Map<String, String> settings, String feature) throws Exception {
        var trial = of(settings).get(feature);
        if (trial == null) {
            return UNTRIED.contains(settings.get("kind") + " " + feature) ? "untried" : "none";
        }
        return trial.works() ? "yes" : "no";
    }

    /** Messages that were read and acknowledged are read once more from the first one on. */
    static boolean replay(Map<String, String> settings) throws Exception {
        var messages = 100;
        try (var client = Client.of(settings)) {
            client.create("replay");
            for (int each = 0; each < messages; each++) {
                client.send("replay", java.util.List.of(Load.message(each))).get();
            }
            return reads(client, "replay", messages) && reads(client, "replay", messages);
        }
    }

    private static boolean reads(Client client, String topic, int messages) throws Exception {
        var left = new CountDownLatch(messages);
        try (var reading = client.read(topic, body -> left.countDown())) {
            return left.await(10, TimeUnit.SECONDS);
        }
    }

    /** Whether it comes true before patience ends. */
    static boolean within(Trial condition) throws Exception {
        long deadline = System.nanoTime() + PATIENCE * 1_000_000_000L;
        while (!condition.works()) {
            if (System.nanoTime() > deadline) {
                return false;
            }
            Thread.sleep(200);
        }
        return true;
    }
}
