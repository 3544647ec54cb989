import { createRequire } from 'node:module';
import { isIP } from 'node:net';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { publicIdOf } from '../domain/identity/api-key-format.ts';
import { listenUrl } from './listen-url.ts';

const where = (says: string, holds: (value: string) => boolean) => z.string().refine(holds, says);

const url = (...protocols: string[]) =>
  where(
    `must be a URL that begins with ${protocols.map((protocol) => `${protocol}://`).join(' or ')}`,
    (value) => URL.canParse(value) && protocols.includes(new URL(value).protocol.slice(0, -1)),
  );

/** Paths are put behind it, and an agent of HTTP sends no user that stands in an address. */
const webUrl = where('must be a URL that begins with http:// or https://, without user, query and fragment', (value) => {
  if (!URL.canParse(value)) return false;
  const { protocol, username, password, search, hash } = new URL(value);
  return /^https?:$/.test(protocol) && [username, password, search, hash].every((part) => part === '');
});

const apiKey = where('must be a well-formed API key (ann_…), its check digits right', (value) => publicIdOf(value) !== null);

const list = (says: string, holds: (item: string) => boolean) =>
  z
    .string()
    .transform((value) => Object.freeze(value.split(',').map((item) => item.trim())))
    .refine((items) => items.every(holds), says)
    .optional();

const isRange = (text: string): boolean => {
  const [address = '', bits, ...rest] = text.split('/');
  const most = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  return rest.length === 0 && most > 0 && (bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= most));
};

const isHostName = (text: string): boolean => /^(?!-)[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63})*$/i.test(text) && text.length <= 253;
const isHost = (text: string): boolean => isIP(text) > 0 || isHostName(text);
const isPort = (text: string): boolean => /^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535;
const isHostAndPort = (text: string): boolean => {
  const at = text.lastIndexOf(':');
  return at > 0 && isHost(text.slice(0, at).replace(/^\[(.*)\]$/, '$1')) && isPort(text.slice(at + 1));
};
const isEgress = (text: string): boolean => isRange(text) || isHost(text) || isHostAndPort(text);
const isOrigin = (text: string): boolean => text === '*' || (/^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text);
const isLoopback = (host: string): boolean => ['localhost', '127.0.0.1', '[::1]'].includes(host);
const isIssuer = (text: string): boolean => {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname));
};

const require = createRequire(import.meta.url);

/** Loads the library only if there is a seed to check: most commands start faster without it. */
const isAccountSeed = (text: string): boolean => {
  const { fromSeed } = require('nkeys.js') as typeof import('nkeys.js');
  try {
    return fromSeed(new TextEncoder().encode(text)).getPublicKey().startsWith('A');
  } catch {
    return false;
  }
};

const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
const word = z.string().optional();

/** The closed list of environment variables, but for the two families with a name inside. */
const variables = z.object({
  PORT: where('must be a port number from 1 to 65535', isPort).transform(Number).default(4100),
  HOST: where('must be a host name or an IP address', isHost).default('127.0.0.1'),
  PUBLIC_URL: webUrl.optional(),
  ANNALS_DATA: z.string().default('.annals'),
  ANNALS_ADMIN_KEY: apiKey.optional(),
  EVENTSTORE_URL: where('must begin with esdb:// or esdb+discover://', (value) => /^esdb(\+discover)?:\/\/[^/]/.test(value)).optional(),
  DATABASE_URL: url('postgres', 'postgresql').optional(),
  NATS_URL: where('must be URLs that begin with nats:// or tls://, set apart by commas', (value) =>
    value.split(',').every((part) => /^(nats|tls):$/.test(URL.canParse(part.trim()) ? new URL(part.trim()).protocol : '')),
  ).optional(),
  BLOBS_URL: url('s3', 'http', 'https').optional(),
  MASTER_KEY_FILE: word,
  OIDC_ISSUER: where('must be an https URL (http on a loopback address)', isIssuer).optional(),
  OIDC_AUDIENCE: word,
  OIDC_CLIENT_ID: word,
  OIDC_CLIENT_SECRET: word,
  LOG_LEVEL: z.enum(levels, `must be one of ${levels.join(', ')}`).default('info'),
  METRICS_TOKEN: word,
  STRIPE_SECRET_KEY: word,
  STRIPE_WEBHOOK_SECRET: word,
  TRUSTED_PROXIES: list('must be IP addresses or CIDR ranges, set apart by commas', isRange),
  CORS_ORIGINS: list('must be origins such as https://app.example.com, or *, set apart by commas', isOrigin),
  NATS_ACCOUNT_SEED: where('must be the seed of a NATS account: SA and 56 letters or digits', isAccountSeed).optional(),
  SMTP_URL: url('smtp', 'smtps').optional(),
  SMTP_LISTEN: where('must be host:port', isHostAndPort).optional(),
  MAIL_DOMAIN: where('must be a domain name', isHostName).optional(),
  EGRESS_ALLOW: list('must be hosts, host:port or CIDR ranges, set apart by commas', isEgress),
  ANNALS_URL: webUrl.optional(),
  ANNALS_KEY: apiKey.optional(),
});

/** Every variable that the platform reads; families are written with the part in angle brackets that varies. */
export const variableNames: readonly string[] = [
  ...Object.keys(variables.shape),
  'OAUTH_<PROVIDER>_CLIENT_ID',
  'OAUTH_<PROVIDER>_CLIENT_SECRET',
  'GIT_TOKEN_<HOST>',
];

type Camel<S extends string> = S extends `${infer Head}_${infer Tail}` ? `${Lowercase<Head>}${Capitalize<Camel<Tail>>}` : Lowercase<S>;
type Variables = z.output<typeof variables>;
type Plain = { readonly [K in keyof Variables as Camel<K>]: Variables[K] };

export type OAuthClient = { readonly clientId: string; readonly clientSecret: string };

/** The environment, read once. Fields are the variables' names in camel case; paths are absolute. */
export type Config = Omit<Plain, 'publicUrl' | 'masterKeyFile'> & {
  /** Without a slash at its end. */
  readonly publicUrl: string;
  readonly masterKeyFile: string;
  /** By provider, in lower case. */
  readonly oauth: Readonly<Record<string, OAuthClient>>;
  /** By host: GIT_TOKEN_GIT_EXAMPLE_COM is git.example.com, two underscores are a hyphen. */
  readonly gitTokens: Readonly<Record<string, string>>;
};

export type Environment = Readonly<Record<string, string | undefined>>;

const camel = (name: string): string => name.toLowerCase().replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());

const oauthIn = (env: Record<string, string>): Config['oauth'] => {
  const names = Object.keys(env).flatMap((name) => /^OAUTH_([A-Z0-9_]+)_CLIENT_(?:ID|SECRET)$/.exec(name)?.[1] ?? []);
  const part = (provider: string, kind: string): string => {
    const value = env[`OAUTH_${provider}_CLIENT_${kind}`];
    if (!value) throw new Error(`OAUTH_${provider}_CLIENT_${kind} is missing: an OAuth client needs both its id and its secret`);
    return value;
  };
  return Object.freeze(
    Object.fromEntries(
      names.map((provider) => [
        provider.toLowerCase(),
        Object.freeze({ clientId: part(provider, 'ID'), clientSecret: part(provider, 'SECRET') }),
      ]),
    ),
  );
};

const gitTokensIn = (env: Record<string, string>): Config['gitTokens'] =>
  Object.freeze(
    Object.fromEntries(
      Object.entries(env).flatMap(([name, token]) => {
        const host = /^GIT_TOKEN_([A-Z0-9_]+)$/.exec(name)?.[1];
        return host ? [[host.toLowerCase().replaceAll('__', '-').replaceAll('_', '.'), token]] : [];
      }),
    ),
  );

const parse = (env: Record<string, string>): Variables => {
  const { data, error } = variables.safeParse(env);
  if (data) return data;
  const [issue] = error.issues;
  throw new Error(`${issue?.path.join('.')} ${issue?.message}`);
};

/** An issuer without an audience would let in the tokens of every service that it knows. */
const checkIssuer = ({ OIDC_ISSUER, OIDC_AUDIENCE, OIDC_CLIENT_ID }: Variables): void => {
  if (OIDC_ISSUER && !OIDC_AUDIENCE && !OIDC_CLIENT_ID)
    throw new Error('OIDC_AUDIENCE is missing: OIDC_ISSUER needs OIDC_AUDIENCE (tokens), OIDC_CLIENT_ID (browsers), or both');
  if (!OIDC_ISSUER && (OIDC_AUDIENCE || OIDC_CLIENT_ID))
    throw new Error('OIDC_ISSUER is missing: OIDC_AUDIENCE and OIDC_CLIENT_ID are of an issuer');
};

/** Reads the environment; an empty variable counts as absent. @throws Error of one line that names a malformed variable, never its value */
export const loadConfig = (env: Environment): Config => {
  const set = Object.fromEntries(Object.entries(env).filter((entry): entry is [string, string] => !!entry[1]));
  const values = parse(set);
  checkIssuer(values);
  const plain = Object.fromEntries(Object.entries(values).map(([name, value]) => [camel(name), value])) as Plain;
  const annalsData = resolve(values.ANNALS_DATA);
  return Object.freeze({
    ...plain,
    annalsData,
    publicUrl: (values.PUBLIC_URL ?? listenUrl({ host: values.HOST, port: values.PORT })).replace(/\/+$/, ''),
    masterKeyFile: values.MASTER_KEY_FILE ? resolve(values.MASTER_KEY_FILE) : join(annalsData, 'master.key'),
    oauth: oauthIn(set),
    gitTokens: gitTokensIn(set),
  });
};
