import java.util.ArrayList;
import java.util.BitSet;
import java.util.concurrent.Semaphore;

/**
 * Messages as fast as they are taken, until the server is gone; which of them were confirmed?
 *
 * <p>With a size of 1 each waits for the one before; else so many are on their way. Where a client
 * waits for no confirmation, a message counts as confirmed when the client's `send` has returned.
 */
class Storm {
    private final Client client;
    private final BitSet confirmed = new BitSet();
    private final Thread thread;
    private volatile boolean open = true;
    private volatile int sent;

    Storm(Client client, String topic, int size) throws Exception {
        this.client = client;
        client.create(topic);
        thread = new Thread(() -> run(topic, size));
        thread.setDaemon(true);
        thread.start();
    }

    private void run(String topic, int size) {
        var room = new Semaphore(Load.WINDOW);
        int next = 0;
        try {
            while (open) {
                if (!room.tryAcquire(100, java.util.concurrent.TimeUnit.MILLISECONDS)) {
                    continue;
                }
                var bodies = new ArrayList<byte[]>();
                int first = next;
                for (int each = 0; each < size; each++) {
                    bodies.add(Load.message(next++));
                }
                int end = next;
                sent = next;
                var pending = client.send(topic, bodies);
                pending.whenComplete((done, error) -> {
                    if (error == null) {
                        note(first, end);
                        room.release();
                    }
                });
                if (size == 1) {
                    while (open && !pending.isDone()) {
                        Thread.onSpinWait();
                    }
                }
            }
        } catch (Exception gone) {
            System.err.println("the server is gone: " + gone);
        }
    }

    private synchronized void note(int first, int end) {
        if (open) {
            confirmed.set(first, end);
        }
    }

    synchronized BitSet confirmed() {
        return confirmed;
    }

    synchronized int count() {
        return confirmed.cardinality();
    }

    String stopped() throws Exception {
        synchronized (this) {
            open = false;
        }
        thread.join(5000);
        var closing = new Thread(() -> {
            try {
                client.close();
            } catch (Exception error) {
                System.err.println("closing, without a server: " + error);
            }
        });
        closing.setDaemon(true);
        closing.start();
        return sent + " " + confirmed.cardinality();
    }
}
