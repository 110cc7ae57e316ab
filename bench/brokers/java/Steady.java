import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * A message every ten milliseconds, each sent again until it is confirmed, by a new client if need be.
 *
 * <p>The longest time between two confirmations is the time without service.
 */
class Steady {
    private final Map<String, String> settings;
    private final BitSet confirmed = new BitSet();
    private final Thread thread;
    private volatile boolean open = true;
    private long last = System.nanoTime();
    private long longest;

    Steady(Map<String, String> settings, String topic) throws Exception {
        this.settings = settings;
        var client = Client.of(settings);
        client.create(topic);
        client.send(topic, List.of(Load.message(0))).get(20, TimeUnit.SECONDS);
        note(0);
        thread = new Thread(() -> run(client, topic));
        thread.setDaemon(true);
        thread.start();
    }

    private void run(Client first, String topic) {
        Client client = first;
        for (int next = 1; open; ) {
            try {
                if (client == null) {
                    client = Client.of(settings);
                }
                client.send(topic, List.of(Load.message(next))).get(10, TimeUnit.SECONDS);
                note(next++);
                Thread.sleep(10);
            } catch (Exception error) {
                System.err.println("tried again after: " + error);
                client = closed(client);
            }
        }
        closed(client);
    }

    private static Client closed(Client client) {
        try {
            if (client != null) {
                client.close();
            }
            Thread.sleep(50);
        } catch (Exception error) {
            System.err.println("closing: " + error);
        }
        return null;
    }

    private synchronized void note(int number) {
        if (open) {
            confirmed.set(number);
            longest = Math.max(longest, System.nanoTime() - last);
            last = System.nanoTime();
        }
    }

    synchronized BitSet confirmed() {
        return confirmed;
    }

    synchronized int count() {
        return confirmed.cardinality();
    }

    /** What was confirmed, and the longest gap in seconds; from now on the gap is measured anew. */
    synchronized String stopped() {
        open = false;
        return confirmed.cardinality() + " " + longest / 1e9;
    }
}
