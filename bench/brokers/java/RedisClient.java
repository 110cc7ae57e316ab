import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.params.XAddParams;
import redis.clients.jedis.params.XReadParams;

/** Redis Streams: jedis. Many messages go in one pipeline. Settings: address. */
class RedisClient implements Client {
    private static final byte[] FIELD = {'v'};
    private final Map<String, String> settings;
    private final Jedis jedis;

    RedisClient(Map<String, String> settings) {
        this.settings = settings;
        jedis = connect();
    }

    private Jedis connect() {
        return new Jedis(HostAndPort.from(settings.get("address")), redis());
    }

    private static redis.clients.jedis.JedisClientConfig redis() {
        return redis.clients.jedis.DefaultJedisClientConfig.builder().timeoutMillis(30000).build();
    }

    @Override
    public void create(String topic) {
        jedis.ping(); // a stream begins with its first entry
    }

    @Override
    public CompletableFuture<Void> send(String topic, List<byte[]> bodies) {
        var key = topic.getBytes(StandardCharsets.UTF_8);
        var pipeline = jedis.pipelined();
        for (var body : bodies) {
            pipeline.xadd(key, new XAddParams(), Map.of(FIELD, body));
        }
        for (var answer : pipeline.syncAndReturnAll()) {
            if (answer instanceof RuntimeException error) {
                throw error;
            }
        }
        return CompletableFuture.completedFuture(null);
    }

    @Override
    public AutoCloseable read(String topic, Consumer<byte[]> each) {
        var own = connect();
        var key = topic.getBytes(StandardCharsets.UTF_8);
        var last = new byte[][] {"0".getBytes(StandardCharsets.UTF_8)};
        var wanted = XReadParams.xReadParams().count(1000).block(100);
        return new Reading(() -> {
            var found = own.xread(wanted, Map.entry(key, last[0]));
            if (found == null) {
                return;
            }
            for (var stream : found) {
                for (var entry : (List<?>) ((List<?>) stream).get(1)) {
                    last[0] = (byte[]) ((List<?>) entry).get(0);
                    each.accept((byte[]) ((List<?>) ((List<?>) entry).get(1)).get(1));
                }
            }
        }, own);
    }

    @Override
    public void close() {
        jedis.close();
    }
}
