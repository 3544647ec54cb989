import { randomUUID } from 'node:crypto';
import { type Call, type Receiver, unary } from './grpc.ts';
import { framed, message, text, uint } from './protobuf.ts';

export const FEATURES = '/event_store.client.server_features.ServerFeatures/GetSupportedMethods';
export const GOSSIP = '/event_store.client.gossip.Gossip/Read';

/** The version of EventStoreDB whose behaviour the store reproduces. */
export const VERSION = '23.10.6';

const method = (name: string, features: string[] = []): Buffer =>
  message(1, text(1, name), text(2, 'event_store.client.streams.streams'), ...features.map((feature) => text(3, feature)));

const supported = framed(
  method('read', ['position', 'events']),
  method('batchappend', ['deadline_duration']),
  method('append'),
  method('delete'),
  method('tombstone'),
  text(2, VERSION),
);

const respondWith =
  (response: () => Buffer) =>
  (call: Call): Receiver => ({
    ...unary(call, () => {
      call.send(response());
      call.end();
    }),
    // These methods need no secret, so strangers may not fill the memory with large messages.
    maxMessageBytes: 1024,
  });

/** ServerFeatures.GetSupportedMethods. */
export const featuresMethod = respondWith(() => supported);

const LEADER = 8;
const instance = randomUUID().replaceAll('-', '');
const half = (at: number): bigint => BigInt(`0x${instance.slice(at, at + 16)}`);

/** Gossip.Read: a cluster of one member, which is its leader. */
export const gossipMethod = (host: string, port: () => number) =>
  respondWith(() =>
    framed(
      message(
        1,
        message(1, message(1, uint(1, half(0)), uint(2, half(16)))),
        uint(2, BigInt(Date.now()) * 10_000n),
        uint(3, LEADER),
        uint(4, 1),
        message(5, text(1, host), uint(2, port())),
      ),
    ),
  );
