import { randomUUID } from 'node:crypto';
import { createUser, fromSeed, type KeyPair } from 'nkeys.js';
import { signNatively } from './native-ed25519.ts';

/** Subjects that a user may or may not use, `>` and `*` as NATS knows them. */
export type Subjects = { allow?: readonly string[]; deny?: readonly string[] };

export type Permissions = { publish?: Subjects; subscribe?: Subjects };

export type UserClaims = {
  /** Seed of the account that the user belongs to (SA…). */
  accountSeed: string;
  name: string;
  /** Public key of the user's own nkey (U…). */
  publicKey: string;
  /** Absent: everything in the account. */
  permissions?: Permissions;
  /** Absent: never. The server ends the connection at that instant. */
  expiresAt?: Date;
};

signNatively();

const UNLIMITED = -1;

const encoded = (part: object | Uint8Array): string =>
  Buffer.from(part instanceof Uint8Array ? part : JSON.stringify(part)).toString('base64url');

export const keyOf = (seed: string): KeyPair => fromSeed(new TextEncoder().encode(seed));

export const seedOf = (key: KeyPair): string => new TextDecoder().decode(key.getSeed());

const sign = (issuer: KeyPair, claims: { sub: string; name: string; nats: object; exp?: number }): string => {
  const header = { typ: 'JWT', alg: 'ed25519-nkey' };
  const body = { jti: randomUUID(), iat: Math.floor(Date.now() / 1000), iss: issuer.getPublicKey(), ...claims };
  const text = `${encoded(header)}.${encoded(body)}`;
  return `${text}.${encoded(issuer.sign(new TextEncoder().encode(text)))}`;
};

/** The operator's claim about itself. */
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

/** The operator's claim about an account. */
export const accountJwt = (operator: KeyPair, account: { publicKey: string; name: string; jetstream: boolean }): string =>
  sign(operator, {
    sub: account.publicKey,
    name: account.name,
    nats: { type: 'account', version: 2, limits: limits(account.jetstream), default_permissions: { pub: {}, sub: {} } },
  });

/** The account's claim about a user: what a client shows, together with a signature by its own nkey. */
export const userJwt = ({ accountSeed, name, publicKey, permissions = {}, expiresAt }: UserClaims): string =>
  sign(keyOf(accountSeed), {
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

/** A user of its own, made for this occasion. */
export const newUser = (claims: Omit<UserClaims, 'publicKey'>): UserCredentials => {
  const user = createUser();
  return { jwt: userJwt({ ...claims, publicKey: user.getPublicKey() }), seed: seedOf(user) };
};

/** Credentials in the form of the files that NATS' own tools read. */
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
