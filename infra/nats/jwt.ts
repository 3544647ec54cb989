import { randomUUID } from 'node:crypto';
import { createUser, fromSeed, type KeyPair } from 'nkeys.js';
import { installNativeEd25519 } from './native-ed25519.ts';

/** Subjects that a user may or may not use, with the wildcards `>` and `*` of NATS. */
export type Subjects = { allow?: readonly string[]; deny?: readonly string[] };

export type Permissions = { publish?: Subjects; subscribe?: Subjects };

export type UserClaims = {
  /** The seed of the user's account (SA…). */
  accountSeed: string;
  name: string;
  /** The public key of the user's nkey (U…). */
  publicKey: string;
  /** Default: everything in the account. */
  permissions?: Permissions;
  /** When the server ends the connection. Default: never. */
  expiresAt?: Date;
};

export type AccountClaims = {
  publicKey: string;
  name: string;
  /** Whether the account may use JetStream. */
  jetstream: boolean;
  /** Public key of a user → second up to which that user's JWTs are void. */
  revocations?: Readonly<Record<string, number>>;
};

installNativeEd25519();

const UNLIMITED = -1;

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

/** The JWT of an operator, signed by itself. */
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

/** The JWT of an account, signed by the operator. */
export const accountJwt = (operator: KeyPair, { publicKey, name, jetstream, revocations }: AccountClaims): string =>
  sign(operator, {
    sub: publicKey,
    name,
    nats: {
      type: 'account',
      version: 2,
      limits: limits(jetstream),
      default_permissions: { pub: {}, sub: {} },
      ...(revocations && { revocations }),
    },
  });

/**
 * The JWT of a user, signed by its account. A client proves with a signature by the user's nkey that the JWT is its
 * own.
 */
export const userJwt = ({ accountSeed, name, publicKey, permissions = {}, expiresAt }: UserClaims): string =>
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
      payload: UNLIMITED,
    },
    ...(expiresAt && { exp: Math.floor(expiresAt.getTime() / 1000) }),
  });

export type UserCredentials = { jwt: string; seed: string };

/** Creates a user with a new nkey. The server needs no registration: the JWT names the account. */
export const createUserCredentials = (claims: Omit<UserClaims, 'publicKey'>): UserCredentials => {
  const user = createUser();
  return { jwt: userJwt({ ...claims, publicKey: user.getPublicKey() }), seed: seedOf(user) };
};

/** Credentials in the file format of the NATS command-line tools. */
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
