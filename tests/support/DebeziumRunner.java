import io.debezium.engine.ChangeEvent;
import io.debezium.engine.DebeziumEngine;
import io.debezium.engine.format.CloudEvents;
import io.debezium.engine.format.Json;
import java.io.FileInputStream;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.StringSerializer;

/** Debezium's engine for tests: writes each change to Kafka as Kafka Connect would, until its standard input is closed. */
public class DebeziumRunner {
    public static void main(String[] arguments) throws Exception {
        var properties = new Properties();
        try (var file = new FileInputStream(arguments[0])) {
            properties.load(file);
        }
        var kafka = new Properties();
        kafka.put("bootstrap.servers", properties.remove("test.kafka"));
        kafka.put("acks", "all");
        kafka.put("linger.ms", "0");
        var events = "true".equals(properties.remove("test.cloudevents"));
        var producer = new KafkaProducer<>(kafka, new StringSerializer(), new StringSerializer());
        DebeziumEngine.ChangeConsumer<ChangeEvent<String, String>> consumer = (records, committer) -> {
            var sent = new java.util.ArrayList<Future<RecordMetadata>>();
            for (var each : records) {
                sent.add(producer.send(new ProducerRecord<>(each.destination(), each.key(), each.value())));
            }
            producer.flush();
            for (int i = 0; i < records.size(); i++) {
                try {
                    sent.get(i).get();
                } catch (java.util.concurrent.ExecutionException error) {
                    throw new RuntimeException(error);
                }
                committer.markProcessed(records.get(i));
            }
            committer.markBatchFinished();
        };
        DebeziumEngine.CompletionCallback ended = (success, message, error) -> {
            System.err.println("ended: " + success + " " + message);
            if (error != null) {
                error.printStackTrace();
            }
            System.exit(success ? 0 : 1);
        };
        var engine = events
            ? DebeziumEngine.create(Json.class, CloudEvents.class).using(properties).notifying(adapted(consumer)).using(ended).build()
            : DebeziumEngine.create(Json.class).using(properties).notifying(consumer).using(ended).build();
        Executors.newSingleThreadExecutor().execute(engine);
        System.out.println("started");
        while (System.in.read() != -1) { }
        engine.close();
        System.exit(0);
    }

    @SuppressWarnings("unchecked")
    private static <T> DebeziumEngine.ChangeConsumer<T> adapted(
        DebeziumEngine.ChangeConsumer<ChangeEvent<String, String>> consumer) {
        return (DebeziumEngine.ChangeConsumer<T>) (DebeziumEngine.ChangeConsumer<?>) consumer;
    }
}
