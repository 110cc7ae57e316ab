import io.nats.client.Connection;
import io.nats.client.JetStream;
import io.nats.client.Nats;
import io.nats.client.Options;
import io.nats.client.PushSubscribeOptions;
import io.nats.client.api.AckPolicy;
import io.nats.client.api.ConsumerConfiguration;
import io.nats.client.api.StorageType;
import io.nats.client.api.StreamConfiguration;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/** NATS JetStream: jnats. Settings: address, replicas, confirms. */
class NatsClient implements Client {
    private final Map<String, String> settings;
    private final Connection connection;
    private final JetStream stream;

    NatsClient(Map<String, String> settings) throws Exception {
        this.settings = settings;
        connection = connect();
        stream = connection.jetStream();
    }

    private Connection connect() throws Exception {
        var options = new Options.Builder().servers(settings.get("address").split(","));
        options.noReconnect().connectionTimeout(Duration.ofSeconds(5));
        options.errorListener(new io.nats.client.impl.ErrorListenerConsoleImpl());
        return Nats.connect(options.build());
    }

    @Override
    public void create(String topic) throws Exception {
        var replicas = Integer.parseInt(settings.getOrDefault("replicas", "1"));
        var wanted = StreamConfiguration.builder().name(topic).subjects(topic);
        wanted.storageType(StorageType.File).replicas(replicas);
        connection.jetStreamManagement().addStream(wanted.build());
    }

    @Override
    public CompletableFuture<Void> send(String topic, List<byte[]> bodies) {
        var pending = new Pending(bodies.size());
        for (var body : bodies) {
            if ("no".equals(settings.get("confirms"))) {
                connection.publish(topic, body);
                pending.confirm(null);
            } else {
                stream.publishAsync(topic, body).whenComplete((ack, error) -> pending.confirm(error));
            }
        }
        return pending;
    }

    @Override
    public AutoCloseable read(String topic, Consumer<byte[]> each) throws Exception {
        var own = connect();
        var wanted = ConsumerConfiguration.builder().ackPolicy(AckPolicy.None).build();
        var options = PushSubscribeOptions.builder().configuration(wanted).build();
        var arrived = own.createDispatcher();
        own.jetStream().subscribe(topic, arrived, it -> each.accept(it.getData()), false, options);
        return own;
    }

    @Override
    public void close() throws InterruptedException {
        connection.close();
    }
}
