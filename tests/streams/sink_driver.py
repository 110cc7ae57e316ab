"""A driver to be killed: it takes files of lines, two for an epoch, to a topic, and ends.

    python sink_driver.py '{"input": DIR, "checkpoint": DIR, "options": {...of the sink}}'

Its first line of output is the JVM's process id. Lines are "KEY REST".
"""

import json
import sys

from pyspark.sql import functions

from sparkstreams import session

DAEMON = "sparkstreams.daemon"  # each life begins with many imports


def main(work: str) -> None:
    wanted = json.loads(work)
    spark = session.start("driver", **{"spark.python.daemon.module": DAEMON})
    print(spark._jvm.java.lang.ProcessHandle.current().pid(), flush=True)
    lines = spark.readStream.option("maxFilesPerTrigger", 2).text(wanted["input"])
    key = functions.substring_index("value", " ", 1)
    query = (
        lines.select(key.alias("key"), "value")
        .writeStream.format("kafka-lab")
        .options(**wanted["options"])
        .option("checkpointLocation", wanted["checkpoint"])
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    for each in query.recentProgress:
        print(each["batchId"], each["numInputRows"], each["durationMs"], flush=True)
    session.stop(spark)


if __name__ == "__main__":
    main(sys.argv[1])
