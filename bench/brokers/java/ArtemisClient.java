import javax.jms.BytesMessage;
import javax.jms.CompletionListener;
import javax.jms.Connection;
import javax.jms.DeliveryMode;
import javax.jms.JMSException;
import javax.jms.Message;
import javax.jms.MessageProducer;
import javax.jms.Session;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.apache.activemq.artemis.jms.client.ActiveMQConnectionFactory;

/**
 * ActiveMQ Artemis: its own JMS client. Settings: address (a URL), durable, confirms.
 *
 * <p>Many messages are sent with a CompletionListener each. With confirms=no `send` returns at once,
 * and nobody hears what becomes of a message.
 */
class ArtemisClient implements Client {
    private final ActiveMQConnectionFactory factory;
    private final Connection connection;
    private final Session session;
    private final boolean confirms;
    private final boolean durable;
    private final Map<String, MessageProducer> producers = new HashMap<>();

    ArtemisClient(Map<String, String> settings) throws JMSException {
        confirms = !"no".equals(settings.get("confirms"));
        durable = !"no".equals(settings.get("durable"));
        factory = new ActiveMQConnectionFactory(settings.get("address"));
        factory.setBlockOnDurableSend(confirms);
        factory.setConfirmationWindowSize(1 << 20);
        connection = factory.createConnection();
        connection.start();
        session = connection.createSession(Session.AUTO_ACKNOWLEDGE);
    }

    @Override
    public void create(String topic) throws JMSException {
        producer(topic); // the queue is created when somebody sends to it
    }

    private MessageProducer producer(String topic) throws JMSException {
        if (!producers.containsKey(topic)) {
            var made = session.createProducer(session.createQueue(topic));
            made.setDeliveryMode(durable ? DeliveryMode.PERSISTENT : DeliveryMode.NON_PERSISTENT);
            producers.put(topic, made);
        }
        return producers.get(topic);
    }

    @Override
    public CompletableFuture<Void> send(String topic, List<byte[]> bodies) throws JMSException {
        var pending = new Pending(bodies.size());
        var listener = new CompletionListener() {
            @Override
            public void onCompletion(Message message) {
                pending.confirm(null);
            }

            @Override
            public void onException(Message message, Exception error) {
                pending.confirm(error);
            }
        };
        for (var body : bodies) {
            var message = session.createBytesMessage();
            message.writeBytes(body);
            if (confirms) {
                producer(topic).send(message, listener);
            } else {
                producer(topic).send(message);
                pending.confirm(null);
            }
        }
        return pending;
    }

    @Override
    public AutoCloseable read(String topic, Consumer<byte[]> each) throws JMSException {
        var own = factory.createConnection();
        var deliveries = own.createSession(Session.DUPS_OK_ACKNOWLEDGE);
        deliveries.createConsumer(deliveries.createQueue(topic)).setMessageListener(message -> {
            try {
                var body = new byte[(int) ((BytesMessage) message).getBodyLength()];
                ((BytesMessage) message).readBytes(body);
                each.accept(body);
            } catch (JMSException error) {
                throw new IllegalStateException(error);
            }
        });
        own.start();
        return own::close;
    }

    @Override
    public void close() throws JMSException {
        connection.close();
        factory.close();
    }
}
