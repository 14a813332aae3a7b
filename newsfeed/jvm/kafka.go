package jvm

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"regexp"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"plimsoll/target/lab"
)

var kafka = &product{
	name: "kafka", title: "Kafka", jar: "kafka_2.13-3.9.1.jar", heap: 256,
	command: kafkaCommand, prepare: kafkaFormat, ready: kafkaReady, describe: kafkaDescribe,
}

// StartKafka starts a broker of Kafka that is its own controller (KRaft, no ZooKeeper). A server
// that an earlier, killed program left on the same directory is ended first.
func StartKafka(ctx context.Context, conf Config) (*Server, error) {
	return start(ctx, kafka, conf)
}

const kafkaLogging = `log4j.rootLogger=INFO, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%-5p %d %m (%c)%n
`

// kafkaNode is the broker's number.
const kafkaNode = "1"

func kafkaCommand(s *Server) ([]string, error) {
	text := settingsText("=", s.conf.Settings, map[string]string{
		"process.roles":                            "broker,controller",
		"node.id":                                  kafkaNode,
		"controller.listener.names":                "CONTROLLER",
		"controller.quorum.voters":                 kafkaNode + "@" + s.node(),
		"listeners":                                "PLAINTEXT://" + s.Addr() + ",CONTROLLER://" + s.node(),
		"advertised.listeners":                     "PLAINTEXT://" + s.Addr(),
		"listener.security.protocol.map":           "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
		"log.dirs":                                 s.file("data"),
		"offsets.topic.replication.factor":         "1",
		"offsets.topic.num.partitions":             "1",
		"group.initial.rebalance.delay.ms":         "0",
		"transaction.state.log.replication.factor": "1",
		"transaction.state.log.min.isr":            "1",
		"transaction.state.log.num.partitions":     "1",
	})
	if err := errors.Join(s.write("server.properties", text), s.write("log4j.properties", kafkaLogging)); err != nil {
		return nil, err
	}
	return []string{
		"-Dlog4j.configuration=file:" + s.file("config", "log4j.properties"),
		"kafka.Kafka",
		s.file("config", "server.properties"),
	}, nil
}

// kafkaFormat gives an empty data directory the name of a new cluster, which a broker needs.
func kafkaFormat(ctx context.Context, s *Server, java string) error {
	if _, err := os.Stat(s.file("data", "meta.properties")); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	id[0] &= 0x7f           // so that the text begins with no dash
	args := append(
		s.jvm(),
		"-Dlog4j.configuration=file:"+s.file("config", "log4j.properties"),
		"kafka.tools.StorageTool",
		"format",
		"-t",
		base64.RawURLEncoding.EncodeToString(id[:]),
		"-c",
		s.file("config", "server.properties"),
	)
	return lab.Run(ctx, s.spec(java, args))
}

// kafkaDo makes a client, runs fn and closes it.
func (s *Server) kafkaDo(fn func(*kgo.Client) error) error {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(s.Addr()),
		kgo.RequestRetries(0),
		kgo.DialTimeout(probeTimeout),
	)
	if err != nil {
		return err
	}
	defer client.Close()
	return fn(client)
}

func kafkaReady(ctx context.Context, s *Server) error {
	return s.kafkaDo(func(client *kgo.Client) error {
		resp, err := kmsg.NewPtrMetadataRequest().RequestWith(ctx, client)
		if err == nil && (len(resp.Brokers) != 1 || resp.ControllerID < 0) {
			err = fmt.Errorf(
				"it knows %d brokers and the controller %d",
				len(resp.Brokers),
				resp.ControllerID,
			)
		}
		return err
	})
}

// kafkaVersion matches a broker's release in its log at the start. Its protocol has versions of
// requests only.
var kafkaVersion = regexp.MustCompile(`Kafka version: (\S+)`)

func kafkaDescribe(ctx context.Context, s *Server) (lab.ProgramInfo, error) {
	d := lab.ProgramInfo{Settings: map[string]string{}}
	log, err := os.ReadFile(s.log)
	if err != nil {
		return d, err
	}
	if m := kafkaVersion.FindSubmatch(log); m != nil {
		d.Version = string(m[1])
	}
	req := kmsg.NewPtrDescribeConfigsRequest()
	res := kmsg.NewDescribeConfigsRequestResource()
	res.ResourceType, res.ResourceName = kmsg.ConfigResourceTypeBroker, kafkaNode
	res.ConfigNames = []string{"log.flush.interval.messages", "log.flush.interval.ms"}
	req.Resources = append(req.Resources, res)
	err = s.kafkaDo(func(client *kgo.Client) error {
		resp, err := req.RequestWith(ctx, client)
		if err != nil {
			return err
		}
		for _, r := range resp.Resources {
			if err := kerr.ErrorForCode(r.ErrorCode); err != nil {
				return err
			}
			for _, c := range r.Configs {
				if c.Value != nil {
					d.Settings[c.Name] = *c.Value
				}
			}
		}
		return nil
	})
	return d, err
}
