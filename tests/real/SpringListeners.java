// Listener containers of Spring for Apache Kafka: java SpringListeners BOOTSTRAP die|stop CASE...
//
// A case is "GROUP TOPIC PARTITIONS CONCURRENCY MODE TIME COUNT START LAST HOW", see test_spring.py.
// Each call of a listener prints its group, its thread, the partition and the offset. When all cases
// are at their last record, the process dies there, or it stops its containers.

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Scanner;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.springframework.kafka.core.DefaultKafkaConsumerFactory;
import org.springframework.kafka.listener.AcknowledgingMessageListener;
import org.springframework.kafka.listener.ConcurrentMessageListenerContainer;
import org.springframework.kafka.listener.ConsumerAwareRebalanceListener;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.listener.ContainerProperties.AckMode;
import org.springframework.kafka.listener.ContainerStoppingErrorHandler;
import org.springframework.kafka.support.Acknowledgment;
import org.springframework.kafka.support.TopicPartitionOffset;

public class SpringListeners {
    static String bootstrap;
    static boolean dies;
    static CountDownLatch busy;  // the cases that are not at their last record

    public static void main(String[] arguments) throws Exception {
        ContainerProperties given = new ContainerProperties("any");
        System.out.printf("defaults %s %d %d %d %s%n", given.getAckMode(), given.getAckTime(),
            given.getAckCount(), given.getPollTimeout(), Arrays.toString(AckMode.values()));
        bootstrap = arguments[0];
        dies = arguments[1].equals("die");
        busy = new CountDownLatch(arguments.length - 2);
        List<ConcurrentMessageListenerContainer<String, String>> containers = new ArrayList<>();
        for (int number = 2; number < arguments.length; number++) {
            containers.add(start(new Scanner(arguments[number])));
        }
        busy.await();
        for (ConcurrentMessageListenerContainer<String, String> container : containers) {
            if (!dies || container.getContainerProperties().getGroupId().endsWith("fails")) {
                container.stop();
            }
        }
        System.out.flush();
        Runtime.getRuntime().halt(dies ? 137 : 0);
    }

    static ConcurrentMessageListenerContainer<String, String> start(Scanner words) {
        String group = words.next(), topic = words.next();
        int partitions = words.nextInt(), concurrency = words.nextInt();
        AckMode mode = AckMode.valueOf(words.next());
        long time = words.nextLong();
        int count = words.nextInt();
        String start = words.next();
        long last = words.nextLong();
        String how = words.next();

        boolean subscribes = start.equals("earliest") || start.equals("latest");
        ContainerProperties properties = subscribes
            ? new ContainerProperties(topic)
            : new ContainerProperties(IntStream.range(0, partitions)
                .mapToObj(partition -> bound(topic, partition, start))
                .toArray(TopicPartitionOffset[]::new));
        properties.setGroupId(group);
        properties.setAckMode(mode);
        properties.setAckTime(time);
        properties.setAckCount(count);
        properties.setMessageListener(listener(group, partitions, last, how));
        properties.setConsumerRebalanceListener(new ConsumerAwareRebalanceListener() {
            @Override
            public void onPartitionsAssigned(
                    Consumer<?, ?> consumer, Collection<TopicPartition> all) {
                if (last < 0) {
                    busy.countDown();
                }
            }
        });
        Map<String, Object> settings = new HashMap<>(Map.of(
            "bootstrap.servers", bootstrap,
            "client.id", group,
            "auto.offset.reset", start.equals("latest") ? "latest" : "earliest",
            "max.poll.records", 5,
            "session.timeout.ms", dies ? 6000 : 30000,
            "key.deserializer", StringDeserializer.class,
            "value.deserializer", StringDeserializer.class));
        if (how.equals("cooperative")) {
            settings.put("partition.assignment.strategy", CooperativeStickyAssignor.class.getName());
        }
        ConcurrentMessageListenerContainer<String, String> container =
            new ConcurrentMessageListenerContainer<>(
                new DefaultKafkaConsumerFactory<>(settings), properties);
        container.setConcurrency(concurrency);
        container.setErrorHandler(new ContainerStoppingErrorHandler());
        container.start();
        return container;
    }

    static TopicPartitionOffset bound(String topic, int partition, String start) {
        if (start.equals("group")) {
            return new TopicPartitionOffset(topic, partition);
        }
        boolean relative = start.endsWith("r");
        return new TopicPartitionOffset(
            topic, partition, Long.valueOf(start.replace("r", "")), relative);
    }

    static AcknowledgingMessageListener<String, String> listener(
            String group, int partitions, long last, String how) {
        AtomicInteger left = new AtomicInteger(partitions);
        Map<String, Acknowledgment> open = new HashMap<>();  // for "back" and "late"
        return (ConsumerRecord<String, String> record, Acknowledgment acknowledgment) -> {
            System.out.println(group + " " + Thread.currentThread().getName()
                + " " + record.partition() + " " + record.offset());  // in one piece, unlike printf
            if (acknowledgment != null) {
                open.put(record.partition() + "@" + record.offset(), acknowledgment);
                acknowledge(acknowledgment, record.offset(), how, open);
            }
            if (how.equals("fails") && record.offset() == 6) {
                busy.countDown();
                throw new IllegalStateException("poison");
            }
            if (record.offset() == last && left.decrementAndGet() == 0) {
                busy.countDown();
                if (dies) {
                    sleep();
                }
            }
        };
    }

    static void acknowledge(
            Acknowledgment each, long offset, String how, Map<String, Acknowledgment> open) {
        if (how.equals("each") || how.equals("fails")) {
            each.acknowledge();
        } else if (how.equals("other")) {
            Thread thread = new Thread(each::acknowledge);
            thread.start();
            join(thread);
        } else if (how.equals("back") && offset == 6) {
            each.acknowledge();
            if (open.containsKey("0@5")) {
                open.get("0@5").acknowledge();
            }
        } else if (how.equals("late") && offset == 5) {
            open.values().forEach(Acknowledgment::acknowledge);
        }
    }

    static void join(Thread thread) {
        try {
            thread.join();
        } catch (InterruptedException error) {
            throw new IllegalStateException(error);
        }
    }

    static void sleep() {
        try {
            Thread.sleep(Long.MAX_VALUE);
        } catch (InterruptedException error) {
            throw new IllegalStateException(error);
        }
    }
}
