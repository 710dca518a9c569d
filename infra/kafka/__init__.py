"""The Log port on Apache Kafka, by aiokafka."""
