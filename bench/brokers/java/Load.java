import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Load on one broker: a command a line on stdin, an answer a line on stdout.
 *
 * <pre>
 *   batched TOPIC MESSAGES         send, as many at once as suits       seconds
 *   single TOPIC MESSAGES          send, each after the one before      seconds
 *   read TOPIC MESSAGES            read them                            seconds
 *   many PREFIX TOPICS MESSAGES    send to so many topics in turn       seconds
 *   latency TOPIC MESSAGES RATE    from send to receive                 p50 p99, in milliseconds
 *   storm TOPIC SIZE               send until all fails                 (see Storm)
 *   stopped                        ... and what was confirmed           sent confirmed
 *   sofar                          of storm or steady: confirmed so far messages
 *   check TOPIC                    read what is there                   lost twice
 *   steady TOPIC                   one by one, tried again until confirmed
 *   steadied                       ... and the longest gap              messages, seconds
 *   try FEATURE                    (see Features)                       yes, no or none
 * </pre>
 */
class Load {
    static final int SIZE = 200; // bytes of a message
    static final int TOGETHER = 1000; // messages handed over at once
    static final int WINDOW = 10; // such batches that are not yet confirmed
    static final int PATIENCE = 120; // seconds for one command
    private static final long END = -1;
    private final Map<String, String> settings;
    private final Set<String> created = new HashSet<>();
    private Storm storm;
    private Steady steady;

    Load(Map<String, String> settings) {
        this.settings = settings;
    }

    public static void main(String[] arguments) throws Exception {
        var settings = new HashMap<String, String>();
        for (var each : arguments) {
            settings.put(each.split("=", 2)[0], each.split("=", 2)[1]);
        }
        var load = new Load(settings);
        var lines = new BufferedReader(new InputStreamReader(System.in));
        for (var line = lines.readLine(); line != null; line = lines.readLine()) {
            System.out.println("= " + load.answer(line.split(" ")));
        }
        System.exit(0);
    }

    private String answer(String[] words) {
        try {
            return run(words);
        } catch (Exception error) {
            error.printStackTrace();
            return "failed " + error;
        }
    }

    private String run(String[] words) throws Exception {
        return switch (words[0]) {
            case "batched" -> batched(words[1], 1, number(words[2]));
            case "many" -> batched(words[1], number(words[2]), number(words[3]));
            case "single" -> single(words[1], number(words[2]));
            case "read" -> read(words[1], number(words[2]));
            case "latency" -> latency(words[1], number(words[2]), number(words[3]));
            case "storm" -> {
                storm = new Storm(Client.of(settings), words[1], number(words[2]));
                yield "started";
            }
            case "stopped" -> storm.stopped();
            case "check" -> check(words[1], storm != null ? storm.confirmed() : steady.confirmed());
            case "steady" -> {
                storm = null;
                steady = new Steady(settings, words[1]);
                yield "started";
            }
            case "sofar" -> "" + (storm != null ? storm.count() : steady.count());
            case "steadied" -> steady.stopped();
            case "try" -> Features.tried(settings, words[1]);
            default -> throw new IllegalArgumentException(words[0]);
        };
    }

    private static int number(String word) {
        return Integer.parseInt(word);
    }

    /** A message: a number, and a rest that makes it 200 bytes long. */
    static byte[] message(long number) {
        var body = new byte[SIZE];
        Arrays.fill(body, (byte) 'v');
        ByteBuffer.wrap(body).putLong(number);
        return body;
    }

    private String batched(String prefix, int topics, int messages) throws Exception {
        var patient = new HashMap<>(settings);
        patient.put("linger", "5");
        try (var client = Client.of(patient)) {
            for (int each = 0; each < topics; each++) {
                var topic = topics == 1 ? prefix : prefix + each;
                if (!created.contains(topic)) {
                    client.create(topic);
                    created.add(topic);
                }
            }
            var open = new ArrayDeque<CompletableFuture<Void>>();
            int together = Math.max(1, TOGETHER / topics);
            long start = System.nanoTime();
            for (int sent = 0, turn = 0; sent < messages; sent += together, turn++) {
                var bodies = new ArrayList<byte[]>();
                for (int each = 0; each < Math.min(together, messages - sent); each++) {
                    bodies.add(message(sent + each));
                }
                open.add(client.send(topics == 1 ? prefix : prefix + turn % topics, bodies));
                if (open.size() > WINDOW * TOGETHER / together) {
                    open.remove().get(PATIENCE, TimeUnit.SECONDS);
                }
            }
            for (var each : open) {
                each.get(PATIENCE, TimeUnit.SECONDS);
            }
            return seconds(start);
        }
    }

    private String single(String topic, int messages) throws Exception {
        try (var client = Client.of(settings)) {
            client.create(topic);
            client.send(topic, List.of(message(0))).get(PATIENCE, TimeUnit.SECONDS);
            long start = System.nanoTime();
            for (int each = 1; each <= messages; each++) {
                client.send(topic, List.of(message(each))).get(PATIENCE, TimeUnit.SECONDS);
            }
            return seconds(start);
        }
    }

    private String read(String topic, int messages) throws Exception {
        var left = new CountDownLatch(messages);
        long start = System.nanoTime();
        try (var client = Client.of(settings);
            var reading = client.read(topic, body -> left.countDown())) {
            if (!left.await(PATIENCE, TimeUnit.SECONDS)) {
                throw new TimeoutException(left.getCount() + " of " + messages + " did not come");
            }
            return seconds(start);
        }
    }

    /** The first fifth warms up. A message that could not be sent in time counts from its time. */
    private String latency(String topic, int messages, int rate) throws Exception {
        var came = new long[messages];
        var left = new CountDownLatch(messages);
        try (var client = Client.of(settings)) {
            client.create(topic);
            try (var reading = client.read(topic, body -> {
                came[(int) ByteBuffer.wrap(body).getLong()] = System.nanoTime();
                left.countDown();
            })) {
                Thread.sleep(1000); // the reader has asked, and waits for the first message
                long start = System.nanoTime();
                var due = new long[messages];
                for (int each = 0; each < messages; each++) {
                    due[each] = start + each * 1_000_000_000L / rate;
                    while (System.nanoTime() < due[each]) {
                        java.util.concurrent.locks.LockSupport.parkNanos(50_000);
                    }
                    due[each] = System.nanoTime();
                    client.send(topic, List.of(message(each)));
                }
                if (!left.await(PATIENCE, TimeUnit.SECONDS)) {
                    throw new TimeoutException(left.getCount() + " did not come");
                }
                var took = new long[messages - messages / 5];
                Arrays.setAll(took, at -> came[messages / 5 + at] - due[messages / 5 + at]);
                Arrays.sort(took);
                return took[took.length / 2] / 1e6 + " " + took[took.length * 99 / 100] / 1e6;
            }
        }
    }

    /** Of the confirmed messages: how many are not there, and how many are there more than once? */
    private String check(String topic, java.util.BitSet confirmed) throws Exception {
        var found = new java.util.BitSet();
        var twice = new java.util.BitSet();
        var ended = new CountDownLatch(1);
        var plain = new HashMap<>(settings);
        plain.put("confirms", "yes");
        plain.put("acks", "all");
        try (var client = Client.of(plain)) {
            client.send(topic, List.of(message(END))).get(PATIENCE, TimeUnit.SECONDS);
            try (var reading = client.read(topic, body -> {
                int number = (int) ByteBuffer.wrap(body).getLong();
                if (number == END) {
                    ended.countDown();
                } else if (found.get(number)) {
                    twice.set(number);
                } else {
                    found.set(number);
                }
            })) {
                if (!ended.await(PATIENCE, TimeUnit.SECONDS)) {
                    throw new TimeoutException("the last message did not come");
                }
            }
        }
        var lost = (java.util.BitSet) confirmed.clone();
        lost.andNot(found);
        return lost.cardinality() + " " + twice.cardinality();
    }

    static String seconds(long start) {
        return "" + (System.nanoTime() - start) / 1e9;
    }
}
