import { createRequire } from 'node:module';
import { isIP } from 'node:net';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { BLOBS_URL_FORMS, parseBlobsUrl } from './blobs/blob-location.ts';
import {
  apiKey,
  type CamelFields,
  camelFields,
  checkedText,
  clientVariables,
  type Environment,
  parseVariables,
  setVariables,
  webUrl,
} from './environment.ts';
import { storeUrlProblem } from './eventstore/store-url.ts';
import { listenUrl } from './listen-url.ts';
import { natsUrlProblem } from './nats/nats-url.ts';
import { databaseUrlProblem } from './postgres/database-url.ts';

/** `problemOf` returns the end of the message, or null if the text is valid. */
const explainedText = (problemOf: (value: string) => string | null) =>
  z.string().superRefine((value, context) => {
    const message = problemOf(value);
    if (message !== null) context.addIssue({ code: 'custom', message });
  });

const url = (...protocols: string[]) =>
  checkedText(
    `must be a URL that begins with ${protocols.map((protocol) => `${protocol}://`).join(' or ')}`,
    (value) => URL.canParse(value) && protocols.includes(new URL(value).protocol.slice(0, -1)),
  );

/** The path and query may contain a secret. */
const postUrl = checkedText('must be a URL that begins with http:// or https://, without a user or fragment', (value) => {
  if (!URL.canParse(value)) return false;
  const { protocol, username, password, hash } = new URL(value);
  return /^https?:$/.test(protocol) && [username, password, hash].every((part) => part === '');
});

const list = (message: string, isValid: (item: string) => boolean) =>
  z
    .string()
    .transform((value) => Object.freeze(value.split(',').map((item) => item.trim())))
    .refine((items) => items.every(isValid), message)
    .optional();

const isRange = (value: string): boolean => {
  const [address = '', bits, ...rest] = value.split('/');
  const maxBits = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  return rest.length === 0 && maxBits > 0 && (bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= maxBits));
};

const isHostName = (text: string): boolean => /^(?!-)[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63})*$/i.test(text) && text.length <= 253;
const isHost = (text: string): boolean => isIP(text) > 0 || isHostName(text);
const isPort = (text: string): boolean => /^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535;
const isHostAndPort = (text: string): boolean => {
  const at = text.lastIndexOf(':');
  return at > 0 && isHost(text.slice(0, at).replace(/^\[(.*)\]$/, '$1')) && isPort(text.slice(at + 1));
};
/** Returns whether a text is a host name that URL parsers read as a malformed IPv4 address, such as 300.1.1.1. */
const endsInNumber = (text: string): boolean => isIP(text) === 0 && /(^|\.)(\d+|0x[0-9a-f]*)(:\d+)?$/i.test(text);
const isEgress = (text: string): boolean => isRange(text) || (!endsInNumber(text) && isHost(text)) || isEgressPort(text);
const isEgressPort = (text: string): boolean => isHostAndPort(text) && !endsInNumber(text.slice(0, text.lastIndexOf(':')));
const hostAndPort = (text: string): { host: string; port: number } => {
  const at = text.lastIndexOf(':');
  const host = at < 0 ? '127.0.0.1' : text.slice(0, at).replace(/^\[(.*)\]$/, '$1');
  return { host, port: Number(text.slice(at + 1)) };
};
const isOrigin = (text: string): boolean => text === '*' || (/^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text);
export const isLoopbackHost = (host: string): boolean => ['localhost', '127.0.0.1', '[::1]'].includes(host);
const isIssuer = (text: string): boolean => {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  return protocol === 'https:' || (protocol === 'http:' && isLoopbackHost(hostname));
};

const isTcpUrl = (text: string): boolean => /^tcp:\/\/[^/?#@]+:\d+\/?$/.test(text) && URL.canParse(text) && isPort(new URL(text).port);
const isVisibleAscii = (text: string): boolean => /^[!-~]+$/.test(text);

const require = createRequire(import.meta.url);

/** nkeys.js is loaded only if there is a seed to check, so that most commands start faster. */
const isAccountSeed = (text: string): boolean => {
  const { fromSeed } = require('nkeys.js') as typeof import('nkeys.js');
  try {
    return fromSeed(new TextEncoder().encode(text)).getPublicKey().startsWith('A');
  } catch {
    return false;
  }
};

const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
const anyText = z.string().optional();

/** Variables whose names contain a provider or a host are read separately. */
const variables = z.object({
  PORT: checkedText('must be a port number from 1 to 65535', isPort).transform(Number).default(4100),
  HOST: checkedText('must be a host name or an IP address', isHost).default('127.0.0.1'),
  PUBLIC_URL: webUrl.optional(),
  ANNALS_ADMIN_KEY: apiKey.optional(),
  EVENTSTORE_URL: explainedText(storeUrlProblem).optional(),
  DATABASE_URL: explainedText(databaseUrlProblem).optional(),
  NATS_URL: explainedText(natsUrlProblem).optional(),
  BLOBS_URL: checkedText(BLOBS_URL_FORMS, (value) => parseBlobsUrl(value) !== null).optional(),
  MASTER_KEY_FILE: anyText,
  OIDC_ISSUER: checkedText('must be an https URL (http only on a loopback address)', isIssuer).optional(),
  OIDC_AUDIENCE: anyText,
  OIDC_CLIENT_ID: anyText,
  OIDC_CLIENT_SECRET: anyText,
  OIDC_TRUST_EMAIL: z
    .enum(['true', 'false'], 'must be true or false')
    .transform((value) => value === 'true')
    .optional(),
  LOG_LEVEL: z.enum(levels, `must be one of ${levels.join(', ')}`).default('info'),
  METRICS_TOKEN: anyText,
  METRICS_PORT: checkedText('must be a port number from 1 to 65535', isPort).transform(Number).optional(),
  METRICS_HOST: checkedText('must be a host name or an IP address', isHost).default('127.0.0.1'),
  STRIPE_SECRET_KEY: checkedText('must be a key of visible ASCII characters', isVisibleAscii).optional(),
  STRIPE_WEBHOOK_SECRET: list('must be one or more secrets of visible ASCII characters, separated by commas', isVisibleAscii),
  CLAMAV_URL: checkedText('must be tcp://host:port', isTcpUrl)
    .transform((value) => ({ host: new URL(value).hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(new URL(value).port) }))
    .optional(),
  TRUSTED_PROXIES: list('must be IP addresses or CIDR ranges, separated by commas', isRange),
  CORS_ORIGINS: list('must be origins such as https://app.example.com, or *, separated by commas', isOrigin),
  NATS_ACCOUNT_SEED: checkedText('must be the seed of a NATS account: SA followed by 56 letters or digits', isAccountSeed).optional(),
  NATS_RUNNER_ACCOUNT_SEED: checkedText(
    'must be the seed of a NATS account: SA followed by 56 letters or digits',
    isAccountSeed,
  ).optional(),
  SMTP_URL: url('smtp', 'smtps').optional(),
  SMTP_LISTEN: checkedText('must be host:port, or a port of 127.0.0.1', (value) => isPort(value) || isHostAndPort(value))
    .transform(hostAndPort)
    .optional(),
  MAIL_DOMAIN: checkedText('must be a domain name', isHostName)
    .transform((value) => value.toLowerCase())
    .optional(),
  AUDIT_ANCHOR_URL: postUrl.optional(),
  EGRESS_ALLOW: list('must be hosts, host:port or CIDR ranges, separated by commas', isEgress),
  ...clientVariables,
});

/** Angle brackets mark the part of a name that varies. */
export const variableNames: readonly string[] = [
  ...Object.keys(variables.shape),
  'OAUTH_<PROVIDER>_CLIENT_ID',
  'OAUTH_<PROVIDER>_CLIENT_SECRET',
  'GIT_TOKEN_<HOST>',
];

const OAUTH_NAME = /^OAUTH_([A-Z0-9_]+)_CLIENT_(?:ID|SECRET)$/;
const GIT_TOKEN_NAME = /^GIT_TOKEN_([A-Z0-9_]+)$/;
const isRead = (name: string): boolean => Object.hasOwn(variables.shape, name) || OAUTH_NAME.test(name) || GIT_TOKEN_NAME.test(name);

type Variables = z.output<typeof variables>;
type PlainConfig = CamelFields<Variables>;

export type OAuthClient = { readonly clientId: string; readonly clientSecret: string };

/** Read once from the environment. Each field is named like its variable, in camel case. Paths are absolute. */
export type Config = Omit<PlainConfig, 'publicUrl' | 'masterKeyFile'> & {
  /** The URL at which clients reach the platform, without a trailing slash. */
  readonly publicUrl: string;
  /** Whether PUBLIC_URL is set. If not, `publicUrl` is the URL on which this process would listen. */
  readonly isPublicUrlSet: boolean;
  readonly masterKeyFile: string;
  /** Maps the names of providers, in lower case, to OAuth clients. */
  readonly oauth: Readonly<Record<string, OAuthClient>>;
  /** Maps hosts to tokens: GIT_TOKEN_GIT_EXAMPLE_COM is for git.example.com. One underscore means a dot, two a hyphen. */
  readonly gitTokens: Readonly<Record<string, string>>;
};

const oauthIn = (env: Record<string, string>): Config['oauth'] => {
  const names = Object.keys(env).flatMap((name) => OAUTH_NAME.exec(name)?.[1] ?? []);
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
        const host = GIT_TOKEN_NAME.exec(name)?.[1];
        if (host && !isVisibleAscii(token)) throw new Error(`${name} must be a token, or user:token, of visible ASCII characters`);
        return host ? [[host.toLowerCase().replaceAll('__', '-').replaceAll('_', '.'), token]] : [];
      }),
    ),
  );

/** Whether an issuer is that of all tenants of Entra ID. The administrators of any of them could claim any address. */
const isForAllTenants = (issuer: string): boolean =>
  /^https:\/\/login\.microsoftonline\.(?:com|us)\/(?:common|organizations|consumers)(?:\/|$)/i.test(issuer);

/** Without an audience, the platform would accept tokens that the issuer created for other services. */
const checkIssuer = ({ OIDC_ISSUER, OIDC_AUDIENCE, OIDC_CLIENT_ID, OIDC_TRUST_EMAIL }: Variables): void => {
  if (OIDC_ISSUER && isForAllTenants(OIDC_ISSUER))
    throw new Error('OIDC_ISSUER must name one tenant of Entra ID: https://login.microsoftonline.com/<id of the tenant>/v2.0');
  if (!OIDC_ISSUER && OIDC_TRUST_EMAIL) throw new Error('OIDC_ISSUER is missing: OIDC_TRUST_EMAIL needs it');
  if (OIDC_ISSUER && !OIDC_AUDIENCE && !OIDC_CLIENT_ID)
    throw new Error('OIDC_AUDIENCE is missing: OIDC_ISSUER needs OIDC_AUDIENCE (for tokens), OIDC_CLIENT_ID (for browsers), or both');
  if (!OIDC_ISSUER && (OIDC_AUDIENCE || OIDC_CLIENT_ID))
    throw new Error('OIDC_ISSUER is missing: OIDC_AUDIENCE and OIDC_CLIENT_ID need it');
};

const checkMail = ({ MAIL_DOMAIN, SMTP_URL, SMTP_LISTEN }: Variables): void => {
  if (!MAIL_DOMAIN && (SMTP_URL || SMTP_LISTEN)) throw new Error('MAIL_DOMAIN is missing: SMTP_URL and SMTP_LISTEN need it');
};

/**
 * An empty variable counts as not set.
 * @throws Error with a one-line message for the operator that names the malformed or missing variable, but not its value
 */
export const loadConfig = (env: Environment): Config => {
  const set = setVariables(env, isRead);
  const values = parseVariables(variables, set);
  checkIssuer(values);
  checkMail(values);
  const annalsData = resolve(values.ANNALS_DATA);
  return Object.freeze({
    ...camelFields(values),
    annalsData,
    publicUrl: (values.PUBLIC_URL ?? listenUrl({ host: values.HOST, port: values.PORT })).replace(/\/+$/, ''),
    isPublicUrlSet: values.PUBLIC_URL !== undefined,
    masterKeyFile: values.MASTER_KEY_FILE ? resolve(values.MASTER_KEY_FILE) : join(annalsData, 'master.key'),
    oauth: oauthIn(set),
    gitTokens: gitTokensIn(set),
  });
};
