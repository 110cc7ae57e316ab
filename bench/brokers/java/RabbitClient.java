import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.Address;
import com.rabbitmq.client.CancelCallback;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.DeliverCallback;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.function.Consumer;

/**
 * RabbitMQ: amqp-client. Settings: address, queue (classic or quorum), durable, confirms.
 *
 * <p>The consumer acknowledges a hundred messages at a time.
 */
class RabbitClient implements Client {
    private static final int ACKNOWLEDGED_TOGETHER = 100;
    private final Map<String, String> settings;
    private final Connection connection;
    private final Channel channel;
    private final boolean confirms;
    private final boolean durable;
    private final ConcurrentSkipListMap<Long, Pending> unconfirmed = new ConcurrentSkipListMap<>();

    RabbitClient(Map<String, String> settings) throws Exception {
        this.settings = settings;
        confirms = !"no".equals(settings.get("confirms"));
        durable = !"no".equals(settings.get("durable"));
        connection = connect();
        channel = connection.createChannel();
        channel.addShutdownListener(cause -> unconfirmed.values().forEach(it -> it.confirm(cause)));
        if (confirms) {
            channel.confirmSelect();
            channel.addConfirmListener(
                (tag, more) -> settle(tag, more, null),
                (tag, more) -> settle(tag, more, new IOException("refused by the server")));
        }
    }

    Connection connect() throws Exception {
        var factory = new ConnectionFactory();
        factory.setAutomaticRecoveryEnabled(false);
        factory.setConnectionTimeout(60000);
        factory.setHandshakeTimeout(60000);
        var addresses = new ArrayList<Address>();
        for (var each : settings.get("address").split(",")) {
            addresses.add(Address.parseAddress(each));
        }
        return factory.newConnection(addresses);
    }

    private void settle(long tag, boolean andBefore, Throwable error) {
        var settled = andBefore
            ? unconfirmed.headMap(tag, true)
            : unconfirmed.subMap(tag, true, tag, true);
        settled.values().forEach(it -> it.confirm(error));
        settled.clear();
    }

    @Override
    public void create(String topic) throws IOException {
        var kind = settings.getOrDefault("queue", "classic");
        Map<String, Object> arguments = Map.of("x-queue-type", kind);
        channel.queueDeclare(topic, durable, false, false, arguments);
    }

    @Override
    public CompletableFuture<Void> send(String topic, List<byte[]> bodies) throws IOException {
        var pending = new Pending(bodies.size());
        var properties = new BasicProperties.Builder().deliveryMode(durable ? 2 : 1).build();
        for (var body : bodies) {
            if (confirms) {
                unconfirmed.put(channel.getNextPublishSeqNo(), pending);
            }
            channel.basicPublish("", topic, properties, body);
            if (!confirms) {
                pending.confirm(null);
            }
        }
        return pending;
    }

    @Override
    public AutoCloseable read(String topic, Consumer<byte[]> each) throws Exception {
        var own = connect();
        var deliveries = own.createChannel();
        deliveries.basicQos(10 * ACKNOWLEDGED_TOGETHER);
        DeliverCallback arrived = (tag, message) -> {
            each.accept(message.getBody());
            var number = message.getEnvelope().getDeliveryTag();
            if (number % ACKNOWLEDGED_TOGETHER == 0) {
                deliveries.basicAck(number, true);
            }
        };
        CancelCallback cancelled = tag -> { };
        deliveries.basicConsume(topic, false, arrived, cancelled);
        return () -> own.abort(2000);
    }

    @Override
    public void close() {
        connection.abort(10000); // what was sent without confirmation may still be on its way
    }
}
