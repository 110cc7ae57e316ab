import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageQueue;

/** RocketMQ: rocketmq-client. Many messages are sent as one batch. Settings: address, confirms. */
class RocketClient implements Client {
    private static final AtomicInteger NUMBERS = new AtomicInteger();
    private final Map<String, String> settings;
    private final DefaultMQProducer producer;

    RocketClient(Map<String, String> settings) throws Exception {
        this.settings = settings;
        producer = new DefaultMQProducer("producer-" + NUMBERS.incrementAndGet());
        producer.setNamesrvAddr(settings.get("address"));
        producer.setInstanceName("producer-" + NUMBERS.get());
        producer.setRetryTimesWhenSendAsyncFailed(0);
        producer.setRetryTimesWhenSendFailed(0);
        producer.setSendMsgTimeout(5000);
        producer.setPollNameServerInterval(1000);
        producer.start();
    }

    @Override
    public void create(String topic) throws Exception {
        for (int tries = 0; true; tries++) { // on a busy machine one try may take too long
            try {
                if (tries % 100 == 0) {
                    producer.createTopic("TBW102", topic, 1, Map.of());
                }
                producer.fetchPublishMessageQueues(topic);
                return;
            } catch (org.apache.rocketmq.client.exception.MQClientException unknown) {
                if (tries > 400) {
                    throw unknown;
                }
                Thread.sleep(50);
            }
        }
    }

    @Override
    public CompletableFuture<Void> send(String topic, List<byte[]> bodies) throws Exception {
        var messages = new ArrayList<Message>();
        bodies.forEach(body -> messages.add(new Message(topic, body)));
        var pending = new Pending(1);
        var callback = new SendCallback() {
            @Override
            public void onSuccess(SendResult result) {
                var stored = result.getSendStatus() == SendStatus.SEND_OK;
                pending.confirm(stored ? null : new IllegalStateException("" + result));
            }

            @Override
            public void onException(Throwable error) {
                pending.confirm(error);
            }
        };
        if ("no".equals(settings.get("confirms"))) {
            for (var each : messages) {
                producer.sendOneway(each);
            }
            pending.confirm(null);
        } else if (messages.size() == 1) {
            producer.send(messages.get(0), callback);
        } else {
            producer.send(messages, callback);
        }
        return pending;
    }

    @Override
    public AutoCloseable read(String topic, Consumer<byte[]> each) throws Exception {
        var consumer = new DefaultLitePullConsumer("consumer-" + NUMBERS.incrementAndGet());
        consumer.setNamesrvAddr(settings.get("address"));
        consumer.setInstanceName("consumer-" + NUMBERS.get());
        consumer.setAutoCommit(false);
        consumer.setPullBatchSize(1000);
        consumer.start();
        Set<MessageQueue> queues = new HashSet<>(consumer.fetchMessageQueues(topic));
        consumer.assign(queues);
        for (var queue : queues) {
            consumer.seekToBegin(queue);
        }
        return new Reading(
            () -> consumer.poll(100).forEach(it -> each.accept(it.getBody())), consumer::shutdown);
    }

    @Override
    public void close() {
        producer.shutdown();
    }
}
