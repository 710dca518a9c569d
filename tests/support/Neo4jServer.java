import java.nio.file.Path;
import java.util.Map;
import org.neo4j.dbms.api.DatabaseManagementServiceBuilder;

/** A Neo4j community server for tests: as neo4j.conf in its folder says, until the process is told to end, or whoever started it is gone. */
public class Neo4jServer {
    public static void main(String[] arguments) throws java.io.IOException {
        var folder = Path.of(arguments[0]);
        var server = new DatabaseManagementServiceBuilder(folder)
            .loadPropertiesFromFile(folder.resolve("neo4j.conf"))
            .build();
        Runtime.getRuntime().addShutdownHook(new Thread(server::shutdown));
        server.database("system").executeTransactionally(
            "ALTER USER neo4j SET PASSWORD $password CHANGE NOT REQUIRED",
            Map.of("password", System.getenv("NEO4J_TEST_PASSWORD")));
        System.out.println("ready");
        while (System.in.read() != -1) { }
        System.exit(0);
    }
}
