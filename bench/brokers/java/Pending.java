import java.util.concurrent.CompletableFuture;

/** Some messages that were sent together; done when each is confirmed, failed when one failed. */
class Pending extends CompletableFuture<Void> {
    private int left;

    Pending(int messages) {
        left = messages;
    }

    synchronized void confirm(Throwable error) {
        if (error != null) {
            completeExceptionally(error);
        } else if (--left == 0) {
            complete(null);
        }
    }
}
