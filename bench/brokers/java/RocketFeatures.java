import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/** Of RocketMQ. Its compaction is not tried: it runs every 15 minutes. */
class RocketFeatures {
    private static final int ONE_SECOND = 1; // the first of the levels of delay
    private final Map<String, String> settings;

    RocketFeatures(Map<String, String> settings) {
        this.settings = settings;
    }

    Map<String, Features.Trial> trials() {
        return Map.of(
            "delay", this::delay,
            "acknowledge-one", () -> refused("one", () -> true),
            "dead-letters", () -> refused("dead", () -> arrives("%DLQ%refusing-dead", "bad")),
            "transactions", this::transactions,
            "replay", () -> Features.replay(settings));
    }

    private void create(String topic) throws Exception {
        try (var client = Client.of(settings)) {
            client.create(topic);
        }
    }

    private <P extends DefaultMQProducer> P started(P producer) throws Exception {
        producer.setNamesrvAddr(settings.get("address"));
        producer.start();
        return producer;
    }

    private static Message message(String topic, String text) {
        return new Message(topic, text.getBytes(StandardCharsets.UTF_8));
    }

    private boolean arrives(String topic, String text) throws Exception {
        var came = new CountDownLatch(1);
        try (var client = Client.of(settings);
            var reading = client.read(topic, body -> {
                if (new String(body, StandardCharsets.UTF_8).equals(text)) {
                    came.countDown();
                }
            })) {
            return came.await(Features.PATIENCE, TimeUnit.SECONDS);
        }
    }

    private boolean delay() throws Exception {
        create("delay");
        var producer = started(new DefaultMQProducer("delaying"));
        var later = message("delay", "later");
        later.setDelayTimeLevel(ONE_SECOND);
        long sent = System.nanoTime();
        producer.send(later);
        var came = arrives("delay", "later");
        producer.shutdown();
        return came && System.nanoTime() - sent > 900_000_000L;
    }

    /** One of two messages is refused: it alone comes again, and after that is a dead letter. */
    private boolean refused(String topic, Features.Trial then) throws Exception {
        create(topic);
        var producer = started(new DefaultMQProducer("refused-" + topic));
        producer.send(message(topic, "bad"));
        producer.send(message(topic, "good"));
        producer.shutdown();
        var times = new ConcurrentHashMap<String, Integer>();
        var consumer = new DefaultMQPushConsumer("refusing-" + topic);
        consumer.setNamesrvAddr(settings.get("address"));
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.setConsumeMessageBatchMaxSize(1);
        consumer.setMaxReconsumeTimes(1);
        consumer.subscribe(topic, "*");
        MessageListenerConcurrently listener = (found, context) -> {
            var text = new String(found.get(0).getBody(), StandardCharsets.UTF_8);
            times.merge(text, 1, Integer::sum);
            context.setDelayLevelWhenNextConsume(ONE_SECOND);
            return text.equals("bad")
                ? ConsumeConcurrentlyStatus.RECONSUME_LATER
                : ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        };
        consumer.registerMessageListener(listener);
        consumer.start();
        var again = Features.within(() -> times.getOrDefault("bad", 0) == 2);
        var found = again && times.get("good") == 1 && then.works();
        consumer.shutdown();
        return found;
    }

    private boolean transactions() throws Exception {
        create("transactions");
        var producer = new TransactionMQProducer("transactions");
        producer.setTransactionListener(new TransactionListener() {
            @Override
            public LocalTransactionState executeLocalTransaction(Message message, Object wanted) {
                return (LocalTransactionState) wanted;
            }

            @Override
            public LocalTransactionState checkLocalTransaction(MessageExt message) {
                return LocalTransactionState.UNKNOW;
            }
        });
        started(producer);
        var rolledBack = message("transactions", "rolled back");
        var committed = message("transactions", "committed");
        producer.sendMessageInTransaction(rolledBack, LocalTransactionState.ROLLBACK_MESSAGE);
        producer.sendMessageInTransaction(committed, LocalTransactionState.COMMIT_MESSAGE);
        producer.shutdown();
        var found = new ConcurrentLinkedQueue<String>();
        try (var client = Client.of(settings);
            var reading = client.read("transactions",
                body -> found.add(new String(body, StandardCharsets.UTF_8)))) {
            return Features.within(() -> found.contains("committed"))
                && !found.contains("rolled back");
        }
    }
}
