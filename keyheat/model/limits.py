"""DynamoDB's published numbers, each once.

A comment after each name gives the unit, whether the value itself is still allowed (`<=`) or not (`<`), and
the page that states it. Pages, under https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ :

    constraints   Constraints.html
    quotas        ServiceQuotas.html
    units         read-write-operations.html
    partitions    bp-partition-key-design.html
    burst         burst-adaptive-capacity.html
    ondemand      on-demand-capacity-mode.html
    switching     bp-switching-capacity-modes.html
    warm          warm-throughput.html
    lsi           LSI.html
    multi         GSI.DesignPattern.MultiAttributeKeys.html
    storage       HowItWorks.Partitions.html
    batch         ../APIReference/API_BatchWriteItem.html, API_BatchGetItem.html
    transactions  ../APIReference/API_TransactWriteItems.html, API_TransactGetItems.html
    query         ../APIReference/API_Query.html
    partiql       ../APIReference/API_ExecuteStatement.html, ql-reference.select.html
    tags          ../APIReference/API_ListTagsOfResource.html
    streams       ../APIReference/API_streams_GetRecords.html, API_streams_DescribeStream.html,
                  API_streams_ListStreams.html, API_streams_GetShardIterator.html, Streams.html
    heat          https://aws.amazon.com/blogs/database/part-2-scaling-dynamodb-how-partitions-hot-keys-and-split-for-heat-impact-performance/
    cloudwatch    https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_GetMetricData.html
    insights      https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/contributorinsights_HowItWorks.html
    cw-quotas     https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/cloudwatch_limits.html
    signing       https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_aws-signing.html
    scaling       AutoScaling.html, metrics-dimensions.html
    scalein       https://repost.aws/knowledge-center/dynamodb-auto-scaling
"""

from typing import Final

KIB: Final = 1024
MIB: Final = 1024 * KIB
GIB: Final = 1024 * MIB

# Items and keys
MAX_ITEM_BYTES: Final = 400 * KIB  # bytes, <=, constraints: names and values together
PARTITION_KEY_BYTES: Final = 2048  # bytes, <=, constraints
SORT_KEY_BYTES: Final = 1024  # bytes, <=, constraints
NUMBER_DIGITS: Final = 38  # significant digits, <=, constraints
NESTING_LEVELS: Final = 32  # levels of lists and maps, <=, constraints
EXPRESSION_BYTES: Final = 4 * KIB  # bytes, <=, constraints
EXPRESSION_OPERATORS: Final = 300  # operators and functions of one expression, <=, constraints

# Capacity units
READ_UNIT_BYTES: Final = 4096  # bytes per read unit, rounded up, units
WRITE_UNIT_BYTES: Final = 1024  # bytes per write unit, rounded up, units
EVENTUAL_READ_FACTOR: Final = 0.5  # of a strongly consistent read, units
TRANSACTION_FACTOR: Final = 2  # prepare and commit, units

# Partitions
PARTITION_READ_UNITS_PER_S: Final = 3000  # units/s, <=, partitions
PARTITION_WRITE_UNITS_PER_S: Final = 1000  # units/s, <=, partitions
EVENTUAL_READ_PARTITION_UNITS_PER_S: Final = 4500  # units/s, <=, heat: three replicas answer
PARTITION_BYTES: Final = 10 * GIB  # bytes, <, storage

# Tables
BURST_S: Final = 300  # seconds of unused capacity, <=, burst
ON_DEMAND_START_READ: Final = 12_000  # units/s, >=, ondemand
ON_DEMAND_START_WRITE: Final = 4_000  # units/s, >=, ondemand
ON_DEMAND_PEAK_FACTOR: Final = 2  # times the previous peak, <=, ondemand
TABLE_READ_UNITS_PER_S: Final = 40_000  # units/s of a table and its global indexes, <=, quotas
TABLE_WRITE_UNITS_PER_S: Final = 40_000  # units/s of a table and its global indexes, <=, quotas
ACCOUNT_READ_UNITS_PER_S: Final = 80_000  # units/s of all provisioned tables, <=, quotas
ACCOUNT_WRITE_UNITS_PER_S: Final = 80_000  # units/s of all provisioned tables, <=, quotas
DECREASES_FIRST_HOUR: Final = 4  # decreases of capacity in the first hour of a UTC day, <=, quotas
DECREASE_SPACING_S: Final = 3600  # seconds without a decrease before a further one, >=, quotas
DECREASES_PER_DAY: Final = 27  # per UTC day, table and each index by itself, <=, quotas
ON_DEMAND_SWITCHES: Final = 4  # provisioned to on-demand in ON_DEMAND_SWITCH_WINDOW_S, <=, switching
ON_DEMAND_SWITCH_WINDOW_S: Final = 86_400  # seconds, switching
SCALE_OUT_MINUTES: Final = 2  # consecutive minutes above the target, >=, scaling
SCALE_IN_MINUTES: Final = 15  # consecutive minutes below it, >=, scaling
SCALE_IN_BELOW: Final = 0.2  # how far below the target utilisation they are, as a share, >=, scalein
SCALING_TARGETS: Final = (0.2, 0.9)  # target utilisations that may be asked for, <=, scaling
TABLES_PER_REGION: Final = 2_500  # tables, <=, quotas
KEY_ATTRIBUTES: Final = 4  # of each key of a global index, <=, multi
GSI_PER_TABLE: Final = 20  # global secondary indexes, <=, quotas
LSI_PER_TABLE: Final = 5  # local secondary indexes, <=, quotas
PROJECTED_ATTRIBUTES: Final = 100  # INCLUDE attributes over all indexes of a table, <=, quotas
TAGS_PER_RESOURCE: Final = 50  # tags, <=, quotas
LIST_TAGS_PER_S: Final = 10  # ListTagsOfResource requests/s of an account, <=, tags
SIGNATURE_CLOCK_S: Final = 300  # seconds that a signature's time may be off, <=, signing

# Requests
BATCH_WRITE_ITEMS: Final = 25  # items, <=, batch
BATCH_GET_ITEMS: Final = 100  # items, <=, batch
STATEMENT_CHARACTERS: Final = 8_192  # of a PartiQL statement, <=, partiql
STATEMENT_PARTITION_KEYS: Final = 50  # that its IN may name, <=, partiql
BATCH_GET_BYTES: Final = 16 * MIB  # bytes of an answer, <=, batch
TRANSACT_BYTES: Final = 4 * MIB  # bytes of all items, <=, transactions
PAGE_BYTES: Final = MIB  # bytes evaluated by one Query or Scan, <=, query

# Streams
STREAM_RETENTION_S: Final = 86_400  # seconds that a change can be read, <=, streams
STREAM_RECORDS_PER_PAGE: Final = 1_000  # records of one GetRecords, <=, streams
STREAM_PAGE_BYTES: Final = MIB  # bytes of one GetRecords, <=, streams
STREAM_ITERATOR_S: Final = 900  # seconds that a shard iterator is good for, <=, streams
STREAM_SHARDS_PER_PAGE: Final = 100  # shards of one DescribeStream, <=, streams
STREAMS_PER_PAGE: Final = 100  # streams of one ListStreams, <=, streams

# CloudWatch
MINUTE_S: Final = 60  # seconds of a consumption or throttle datapoint, cloudwatch
SETTING_PERIOD_S: Final = 300  # seconds of a Provisioned* or OnDemandMax* datapoint, cloudwatch
MINUTE_RETENTION_S: Final = 15 * 86_400  # seconds that one-minute datapoints are kept, cloudwatch
INSIGHT_CONTRIBUTORS: Final = 25  # keys in the report of a DynamoDB rule, <=, insights
INSIGHT_WRITE_WEIGHT: Final = 3  # consumed throughput units of a write unit; a read unit is one, insights
INSIGHT_REPORTS_PER_S: Final = 20  # GetInsightRuleReport requests/s of an account, <=, cw-quotas
