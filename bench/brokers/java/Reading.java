/** A thread that polls, until it is closed. */
class Reading implements AutoCloseable {
    interface Step {
        void run() throws Exception;
    }

    private final Thread thread;
    private volatile boolean open = true;

    Reading(Step step, AutoCloseable client) {
        thread = new Thread(() -> {
            try (client) {
                while (open) {
                    step.run();
                }
            } catch (Exception error) {
                throw new IllegalStateException("reading has failed", error);
            }
        });
        thread.setDaemon(true);
        thread.start();
    }

    @Override
    public void close() throws InterruptedException {
        open = false;
        thread.join(5000);
    }
}
