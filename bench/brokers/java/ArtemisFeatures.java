import java.util.Collections;
import java.util.Map;
import javax.jms.Connection;
import javax.jms.JMSException;
import javax.jms.Message;
import javax.jms.Session;
import javax.jms.TextMessage;
import org.apache.activemq.artemis.jms.client.ActiveMQConnectionFactory;

/** Of ActiveMQ Artemis, by JMS. */
class ArtemisFeatures {
    private static final int ACKNOWLEDGE_ONE = 101; // Artemis' own mode of a session
    private final Map<String, String> settings;
    private final Connection connection;

    ArtemisFeatures(Map<String, String> settings) throws JMSException {
        this.settings = settings;
        connection = new ActiveMQConnectionFactory(settings.get("address")).createConnection();
        connection.start();
    }

    Map<String, Features.Trial> trials() {
        return Map.of(
            "priority", this::priority,
            "delay", this::delay,
            "acknowledge-one", this::acknowledgeOne,
            "dead-letters", this::deadLetters,
            "transactions", this::transactions,
            "replay", () -> Features.replay(settings),
            "compaction", this::newestOnly);
    }

    private Session session() throws JMSException {
        return connection.createSession(Session.AUTO_ACKNOWLEDGE);
    }

    private static String take(Session session, String queue, int patience) throws JMSException {
        try (var consumer = session.createConsumer(session.createQueue(queue))) {
            var found = consumer.receive(patience);
            return found == null ? "" : ((TextMessage) found).getText();
        }
    }

    private static void put(Session session, String queue, String text, int priority, long delay)
        throws JMSException {
        try (var producer = session.createProducer(session.createQueue(queue))) {
            producer.setPriority(priority);
            producer.setDeliveryDelay(delay);
            var message = session.createTextMessage(text);
            message.setStringProperty("key", "one");
            producer.send(message);
        }
    }

    private boolean priority() throws JMSException {
        put(session(), "priority", "low", 1, 0);
        put(session(), "priority", "high", 9, 0);
        return take(session(), "priority", 5000).equals("high");
    }

    private boolean delay() throws JMSException {
        put(session(), "delay", "later", 4, 2000);
        return take(session(), "delay", 200).isEmpty()
            && take(session(), "delay", 10000).equals("later");
    }

    private boolean acknowledgeOne() throws JMSException {
        put(session(), "one", "first", 4, 0);
        put(session(), "one", "second", 4, 0);
        var session = connection.createSession(false, ACKNOWLEDGE_ONE);
        var consumer = session.createConsumer(session.createQueue("one"));
        consumer.receive(5000);
        Message second = consumer.receive(5000);
        second.acknowledge();
        session.close();
        return take(session(), "one", 5000).equals("first") && take(session(), "one", 500).isEmpty();
    }

    /** The server is told that two attempts are enough. */
    private boolean deadLetters() throws JMSException {
        put(session(), "rejecting", "bad", 4, 0);
        for (int attempt = 0; attempt < 2; attempt++) {
            var session = connection.createSession(true, Session.SESSION_TRANSACTED);
            take(session, "rejecting", 5000);
            session.rollback();
            session.close();
        }
        return take(session(), "dead", 5000).equals("bad");
    }

    private boolean transactions() throws JMSException {
        var session = connection.createSession(true, Session.SESSION_TRANSACTED);
        put(session, "transactions", "rolled back", 4, 0);
        session.rollback();
        put(session, "transactions", "committed", 4, 0);
        session.commit();
        return take(session(), "transactions", 5000).equals("committed");
    }

    /** A queue that the server is told to keep as a last-value queue, by the property "key". */
    private boolean newestOnly() throws JMSException {
        put(session(), "newest", "old", 4, 0);
        put(session(), "newest", "new", 4, 0);
        var session = session();
        var browser = session.createBrowser(session.createQueue("newest"));
        return Collections.list(browser.getEnumeration()).size() == 1;
    }
}
