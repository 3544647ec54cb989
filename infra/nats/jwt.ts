import { randomUUID } from 'node:crypto';
import { createUser, fromSeed, type KeyPair } from 'nkeys.js';
import { installNativeEd25519 } from './native-ed25519.ts';

/** Subjects that a user may use (`allow`) or may not use (`deny`). They may contain the NATS wildcards `>` and `*`. */
export type Subjects = { allow?: readonly string[]; deny?: readonly string[] };

export type Permissions = { publish?: Subjects; subscribe?: Subjects };

export type UserClaims = {
  /** The seed of the user's account (SA…). */
  accountSeed: string;
  name: string;
  publicKey: string;
  /** By default, everything in the account. */
  permissions?: Permissions;
  /** The maximum size of a message that the user publishes, in bytes. By default, that of the server. */
  maxPayload?: number;
  /** The server then ends the user's connections. By default, never. */
  expiresAt?: Date;
};

/** A service that an account exports. Only accounts with an activation token (see `activationToken`) may import it. */
export type ServiceExport = {
  name: string;
  /** The subject of the requests. An import may use a part of it. */
  subject: string;
  /** The server forwards answers for this many milliseconds after the request, or after the latest answer to it. */
  answersWithinMs: number;
};

/** A stream of messages that an account exports: only accounts with an activation token may import it. */
export type StreamExport = { name: string; subject: string };

/** `token` is the exporting account's activation token. The subject stays the same. */
export type AccountImport = { name: string; subject: string; account: string; token: string; type: ExportKind };
export type ExportKind = 'service' | 'stream';

export type AccountClaims = {
  publicKey: string;
  name: string;
  jetstream: boolean;
  /** Unix seconds by public key, or `*` for all users: JWTs issued up to then are revoked. */
  revocations?: Readonly<Record<string, number>>;
  exports?: readonly ServiceExport[];
  streams?: readonly StreamExport[];
  imports?: readonly AccountImport[];
};

installNativeEd25519();

const UNLIMITED = -1;
const NANOSECONDS_PER_MS = 1_000_000;

const base64url = (part: object | Uint8Array): string =>
  Buffer.from(part instanceof Uint8Array ? part : JSON.stringify(part)).toString('base64url');

export const keyPairOf = (seed: string): KeyPair => fromSeed(new TextEncoder().encode(seed));

export const seedOf = (key: KeyPair): string => new TextDecoder().decode(key.getSeed());

const sign = (issuer: KeyPair, claims: { sub: string; name: string; nats: object; exp?: number }): string => {
  const header = { typ: 'JWT', alg: 'ed25519-nkey' };
  const body = { jti: randomUUID(), iat: Math.floor(Date.now() / 1000), iss: issuer.getPublicKey(), ...claims };
  const text = `${base64url(header)}.${base64url(body)}`;
  return `${text}.${base64url(issuer.sign(new TextEncoder().encode(text)))}`;
};

export const operatorJwt = (operator: KeyPair, systemAccount: string): string =>
  sign(operator, { sub: operator.getPublicKey(), name: 'annals', nats: { type: 'operator', version: 2, system_account: systemAccount } });

const limits = (jetstream: boolean): object => ({
  subs: UNLIMITED,
  data: UNLIMITED,
  payload: UNLIMITED,
  imports: UNLIMITED,
  exports: UNLIMITED,
  wildcards: true,
  conn: UNLIMITED,
  leaf: UNLIMITED,
  ...(jetstream && { mem_storage: UNLIMITED, disk_storage: UNLIMITED, streams: UNLIMITED, consumer: UNLIMITED }),
});

/** Each request may get several answers, because a runner may request several messages at once. */
const serviceExport = ({ name, subject, answersWithinMs }: ServiceExport): object => ({
  name,
  subject,
  type: 'service',
  response_type: 'Stream',
  response_threshold: answersWithinMs * NANOSECONDS_PER_MS,
  token_req: true,
});

export const accountJwt = (
  operator: KeyPair,
  { publicKey, name, jetstream, revocations, exports, streams = [], imports }: AccountClaims,
): string =>
  sign(operator, {
    sub: publicKey,
    name,
    nats: {
      type: 'account',
      version: 2,
      limits: limits(jetstream),
      default_permissions: { pub: {}, sub: {} },
      ...(revocations && { revocations }),
      ...(exports && {
        exports: [...exports.map(serviceExport), ...streams.map((stream) => ({ ...stream, type: 'stream', token_req: true }))],
      }),
      ...(imports && { imports }),
    },
  });

/** Allows the account `importer` to import; signed by the exporting account. */
export const activationToken = (exporterSeed: string, importer: string, subject: string, kind: ExportKind): string =>
  sign(keyPairOf(exporterSeed), {
    sub: importer,
    name: subject,
    nats: { type: 'activation', version: 2, subject, kind },
  });

/** Signed by the account. To connect, the client must also sign with the user's private key. */
export const userJwt = ({ accountSeed, name, publicKey, permissions = {}, maxPayload = UNLIMITED, expiresAt }: UserClaims): string =>
  sign(keyPairOf(accountSeed), {
    sub: publicKey,
    name,
    nats: {
      type: 'user',
      version: 2,
      pub: permissions.publish ?? {},
      sub: permissions.subscribe ?? {},
      subs: UNLIMITED,
      data: UNLIMITED,
      payload: maxPayload,
    },
    ...(expiresAt && { exp: Math.floor(expiresAt.getTime() / 1000) }),
  });

export type UserCredentials = { jwt: string; seed: string };

/** The user need not be registered with the server: the account's signature is enough. */
export const createUserCredentials = (claims: Omit<UserClaims, 'publicKey'>): UserCredentials => {
  const user = createUser();
  return { jwt: userJwt({ ...claims, publicKey: user.getPublicKey() }), seed: seedOf(user) };
};

/** Formats credentials as a file for the NATS command-line tools. */
export const credentialsFile = ({ jwt, seed }: UserCredentials): string =>
  [
    '-----BEGIN NATS USER JWT-----',
    jwt,
    '------END NATS USER JWT------',
    '',
    '-----BEGIN USER NKEY SEED-----',
    seed,
    '------END USER NKEY SEED------',
    '',
  ].join('\n');
