package server

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// kafkaLeast is the shortest time limit that the library takes for a request.
const kafkaLeast = time.Second

// kafka is the client of a Kafka cluster: one topic of one partition, acknowledged by the leader,
// uncompressed, as the studied service's producer did it. Safe for concurrent use; batches go one
// after the other.
type kafka struct {
	client *kgo.Client
	hosts  []string
	topic  string
	// holds one token while a batch is under way, beyond its caller's patience, too
	turn  chan struct{}
	wg    sync.WaitGroup
	ready atomic.Bool // the topic is there
}

func newKafka(a address, timeout time.Duration) (*kafka, error) {
	limit := max(timeout, kafkaLeast)
	client, err := kgo.NewClient(
		kgo.SeedBrokers(a.hosts...),
		kgo.ClientID("newsfeed"),
		kgo.DefaultProduceTopic(a.name),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), // partition 0
		kgo.RequiredAcks(kgo.LeaderAck()),
		kgo.DisableIdempotentWrite(),
		kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.ProducerLinger(0),
		kgo.DialTimeout(timeout),
		kgo.RetryTimeout(limit),
		kgo.ProduceRequestTimeout(limit),
		kgo.RequestTimeoutOverhead(limit),
		kgo.RecordDeliveryTimeout(limit),
		// A broker that is back must be found soon: nothing else checks for it.
		kgo.RetryBackoffFn(func(int) time.Duration {
			return 50 * time.Millisecond
		}),
		kgo.MetadataMinAge(250*time.Millisecond),
		kgo.RequestRetries(2),
	)
	if err != nil {
		return nil, fmt.Errorf("making the client of Kafka: %w", err)
	}
	return &kafka{client: client, hosts: a.hosts, topic: a.name, turn: make(chan struct{}, 1)}, nil
}

// Produce implements producer. A batch that outlives ctx may still arrive; the next one waits for
// its end.
func (k *kafka) Produce(ctx context.Context, records [][]byte) (offset int64, err error) {
	if err := k.prepare(ctx); err != nil {
		return 0, err
	}
	if len(records) == 0 {
		return 0, errors.New("an empty batch")
	}
	select {
	case k.turn <- struct{}{}:
	case <-ctx.Done():
		return 0, fmt.Errorf("waiting for the batch before: %w", ctx.Err())
	}
	batch := make([]*kgo.Record, len(records))
	for i, r := range records {
		batch[i] = &kgo.Record{Value: r}
	}
	done := make(chan error, 1)
	k.wg.Go(func() {
		// within the client's own limits
		err := k.client.ProduceSync(context.WithoutCancel(ctx), batch...).FirstErr()
		if errors.Is(err, kerr.UnknownTopicOrPartition) {
			k.ready.Store(false)
		}
		<-k.turn
		done <- err
	})
	select {
	case err := <-done:
		return batch[0].Offset, err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// prepare creates the topic if it does not exist.
func (k *kafka) prepare(ctx context.Context) error {
	if k.ready.Load() {
		return nil
	}
	req := kmsg.NewPtrCreateTopicsRequest()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic = k.topic
	topic.NumPartitions = 1
	topic.ReplicationFactor = 1
	req.Topics = append(req.Topics, topic)
	if deadline, ok := ctx.Deadline(); ok {
		req.TimeoutMillis = int32(max(time.Until(deadline), time.Millisecond) / time.Millisecond)
	}
	resp, err := req.RequestWith(ctx, k.client)
	if err != nil {
		return fmt.Errorf("making the topic: %w", err)
	}
	for _, t := range resp.Topics {
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil &&
			!errors.Is(err, kerr.TopicAlreadyExists) {
			return fmt.Errorf("making the topic: %w", err)
		}
	}
	k.ready.Store(true)
	return nil
}

// Describe implements producer. A broker does not report its release; it reports the versions of
// its interface, which identify one.
func (k *kafka) Describe(ctx context.Context) (StoreInfo, error) {
	info := StoreInfo{
		Role:     KindBus,
		Name:     "Kafka",
		Real:     true,
		Settings: map[string]string{"topic": k.topic, "acks": "leader"},
	}
	if err := k.prepare(ctx); err != nil {
		return info, err
	}
	resp, err := kmsg.NewPtrApiVersionsRequest().RequestWith(ctx, k.client)
	if err != nil {
		return info, err
	}
	info.Version = kversion.FromApiVersionsResponse(resp).VersionGuess()
	return info, nil
}

// ends returns where the topic begins and ends: the first offset that it holds, and the one after
// its last.
func (k *kafka) ends(ctx context.Context) (first, end int64, err error) {
	if err := k.prepare(ctx); err != nil {
		return 0, 0, err
	}
	at := func(timestamp int64) (int64, error) {
		req := kmsg.NewPtrListOffsetsRequest()
		topic := kmsg.NewListOffsetsRequestTopic()
		part := kmsg.NewListOffsetsRequestTopicPartition()
		req.ReplicaID = -1
		topic.Topic = k.topic
		part.Timestamp = timestamp
		topic.Partitions = append(topic.Partitions, part)
		req.Topics = append(req.Topics, topic)
		resp, err := req.RequestWith(ctx, k.client)
		if err != nil {
			return 0, err
		}
		if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
			return 0, errors.New("its answer lacks the topic's partition")
		}
		p := resp.Topics[0].Partitions[0]
		return p.Offset, kerr.ErrorForCode(p.ErrorCode)
	}
	const earliest, latest = -2, -1
	if first, err = at(earliest); err != nil {
		return 0, 0, err
	}
	end, err = at(latest)
	return first, end, err
}

// rows implements counter.
func (k *kafka) rows(ctx context.Context) (map[string]int64, error) {
	first, end, err := k.ends(ctx)
	return map[string]int64{"records": end - first}, err
}

// Fetch implements Reader.
func (k *kafka) Fetch(ctx context.Context, offset int64) (records [][]byte, err error) {
	first, end, err := k.ends(ctx)
	if err != nil || offset >= end {
		return nil, err
	}
	if offset < first {
		return nil, fmt.Errorf("the topic has dropped the records before %d", first)
	}
	end = min(end, offset+mostFetched)
	at := map[string]map[int32]kgo.Offset{k.topic: {0: kgo.NewOffset().At(offset)}}
	consumer, err := kgo.NewClient(
		kgo.SeedBrokers(k.hosts...),
		kgo.ClientID("newsfeed"),
		kgo.ConsumePartitions(at),
		kgo.MetadataMinAge(250*time.Millisecond),
	)
	if err != nil {
		return nil, fmt.Errorf("making the client of Kafka: %w", err)
	}
	defer consumer.Close()
	for next := offset; next < end; {
		got := consumer.PollFetches(ctx)
		if err := got.Err(); err != nil {
			return nil, err
		}
		got.EachRecord(func(r *kgo.Record) {
			if r.Offset >= next && r.Offset < end {
				records, next = append(records, r.Value), r.Offset+1
			}
		})
	}
	return records, nil
}

// Close implements producer. It waits for a batch that is under way.
func (k *kafka) Close() {
	k.client.Close()
	k.wg.Wait()
}
