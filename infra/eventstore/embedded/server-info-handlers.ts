import { randomUUID } from 'node:crypto';
import { framedMessage, messageField, textField, uintField } from './encoding/protobuf.ts';
import { type Call, type Receiver, unary } from './grpc.ts';

export const FEATURES = '/event_store.client.server_features.ServerFeatures/GetSupportedMethods';
export const GOSSIP = '/event_store.client.gossip.Gossip/Read';

/** The version of EventStoreDB whose behaviour the store reproduces. */
const VERSION = '23.10.6';

const method = (name: string, features: string[] = []): Buffer =>
  messageField(
    1,
    textField(1, name),
    textField(2, 'event_store.client.streams.streams'),
    ...features.map((feature) => textField(3, feature)),
  );

const supported = framedMessage(
  method('read', ['position', 'events']),
  method('batchappend', ['deadline_duration']),
  method('append'),
  method('delete'),
  method('tombstone'),
  textField(2, VERSION),
);

const respondWith =
  (response: () => Buffer) =>
  (call: Call): Receiver => ({
    ...unary(call, () => {
      call.send(response());
      call.end();
    }),
    // Callers need no secret here: the low limit prevents other local programs from filling the memory.
    maxMessageBytes: 1024,
  });

/** ServerFeatures.GetSupportedMethods: the version and the methods that the client may expect. */
export const featuresMethod = respondWith(() => supported);

const LEADER = 8;
const instance = randomUUID().replaceAll('-', '');
const half = (at: number): bigint => BigInt(`0x${instance.slice(at, at + 16)}`);

/** Encodes the gossip of a cluster with one member. `state` is the member's state. */
export const gossipOf = (host: string, port: number, state = LEADER): Buffer =>
  framedMessage(
    messageField(
      1,
      messageField(1, messageField(1, uintField(1, half(0)), uintField(2, half(16)))),
      uintField(2, BigInt(Date.now()) * 10_000n),
      uintField(3, state),
      uintField(4, 1),
      messageField(5, textField(1, host), uintField(2, port)),
    ),
  );

/** Gossip.Read: a cluster whose only member, the leader, is this store. */
export const gossipMethod = (host: string, port: () => number) => respondWith(() => gossipOf(host, port()));
