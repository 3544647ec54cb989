import { STREAM } from '../../domain/runners/runner-credential.ts';
import {
  type AccountClaims,
  accountJwt,
  activationToken,
  type ExportKind,
  keyPairOf,
  type ServiceExport,
  type StreamExport,
} from './jwt.ts';
import type { ServerSeeds } from './server-keys.ts';

/** The maximum time in milliseconds that a runner's request for messages can wait without a heartbeat. */
const PULL_TIMEOUT_MS = 120_000;

/** The subjects that runners need to fetch messages, acknowledge them, and publish results of benchmark tasks. */
const RUNNER_SUBJECTS = {
  'fetch messages': `$JS.API.CONSUMER.MSG.NEXT.${STREAM}.*`,
  'acknowledge messages': `$JS.ACK.${STREAM}.>`,
  'report benchmark results': 'scores.*.*',
};

const EXPORTS: readonly ServiceExport[] = Object.entries(RUNNER_SUBJECTS).map(([name, subject]) => ({
  name,
  subject,
  answersWithinMs: PULL_TIMEOUT_MS,
}));

/** Runners listen to these while they process an event of a session. */
const STREAMS: readonly StreamExport[] = [{ name: 'listen to messages', subject: 'agents.*.*.inbound' }];

export const publicKeyOf = (seed: string): string => keyPairOf(seed).getPublicKey();

const signed = (seeds: ServerSeeds, claims: AccountClaims): string => accountJwt(keyPairOf(seeds.operator), claims);

export const systemAccountJwt = (seeds: ServerSeeds): string =>
  signed(seeds, { publicKey: publicKeyOf(seeds.system), name: 'SYS', jetstream: false });

/** Creates the JWT of the account that Annals uses and that holds the streams. */
export const platformAccountJwt = (seeds: ServerSeeds): string =>
  signed(seeds, {
    publicKey: publicKeyOf(seeds.account),
    name: 'annals',
    jetstream: true,
    exports: EXPORTS,
    streams: STREAMS,
    ...(seeds.revokedUntil !== undefined && { revocations: { '*': seeds.revokedUntil } }),
  });

/**
 * A runner chooses the subject of the answers to its requests. With the streams in the account, an answer to a subject of the JetStream API
 * would act as a request, for example to delete the stream. The account of the runners has no JetStream.
 */
export const runnerAccountJwt = (seeds: ServerSeeds, revocations: Readonly<Record<string, number>> = {}): string => {
  const publicKey = publicKeyOf(seeds.runners);
  const account = publicKeyOf(seeds.account);
  const imported =
    (type: ExportKind) =>
    ({ name, subject }: Pick<StreamExport, 'name' | 'subject'>) => ({
      name,
      subject,
      type,
      account,
      token: activationToken(seeds.account, publicKey, subject, type),
    });
  const imports = [...EXPORTS.map(imported('service')), ...STREAMS.map(imported('stream'))];
  return signed(seeds, { publicKey, name: 'annals runners', jetstream: false, imports, revocations });
};
