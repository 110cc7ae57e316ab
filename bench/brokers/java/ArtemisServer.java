import java.nio.file.Path;
import org.apache.activemq.artemis.core.server.embedded.EmbeddedActiveMQ;

/** A server of ActiveMQ Artemis, configured by the broker.xml that is named; it logs nothing. */
class ArtemisServer {
    public static void main(String[] arguments) throws Exception {
        var server = new EmbeddedActiveMQ();
        server.setConfigResourcePath(Path.of(arguments[0]).toUri().toString());
        server.start();
        System.err.println("the server has started");
        if (server.getActiveMQServer().getHAPolicy().isBackup()) {
            while (!server.getActiveMQServer().isReplicaSync()) {
                Thread.sleep(50);
            }
            System.err.println("the backup has a complete copy");
        }
        Thread.currentThread().join();
    }
}
