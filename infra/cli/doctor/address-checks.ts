import { isIP } from 'node:net';
import { connect, type PeerCertificate } from 'node:tls';
import type pg from 'pg';
import { counted } from '../../../domain/counted.ts';
import { fail, none, ok, type Result, warn } from '../../health/finding.ts';
import type { Expected } from '../../health/health-checks.ts';
import { databaseTime } from '../../projector/health-counts.ts';

const TIMEOUT_MS = 4_000;
const DAY_MS = 86_400_000;
const MIN_CERTIFICATE_DAYS = 14;
/** Tokens of users whose issue time is further in the future are refused. */
const MAX_CLOCK_DIFFERENCE_MS = 30_000;
const LARGE_CLOCK_DIFFERENCE_MS = 2_000;
/** The header has no fractions of a second. */
const DATE_HEADER_RESOLUTION_MS = 1_000;
const HTTPS_PORT = 443;

type Measured = { readonly name: string; readonly differenceMs: number };

const postgresClock = async (client: pg.Client): Promise<Measured> => {
  const startedAt = Date.now();
  const now = await databaseTime(client);
  return { name: 'Postgres', differenceMs: Math.round(now - (startedAt + Date.now()) / 2) };
};

/** Returns how far the service's clock is ahead of this machine's clock, in whole seconds; null if the service does not answer. */
export const serviceClock = async (url: string): Promise<Measured | null> => {
  const startedAt = Date.now();
  const response = await fetch(`${url}/livez`, { signal: AbortSignal.timeout(TIMEOUT_MS) }).catch(() => null);
  const date = Date.parse(response?.headers.get('date') ?? '');
  if (Number.isNaN(date)) return null;
  const difference = date + DATE_HEADER_RESOLUTION_MS / 2 - (startedAt + Date.now()) / 2;
  return { name: 'the service', differenceMs: Math.abs(difference) <= DATE_HEADER_RESOLUTION_MS ? 0 : Math.round(difference) };
};

/** Returns the result of comparing clocks. A null entry stands for a service that did not answer. */
export const judgeClocks = (clocks: readonly (Measured | null)[]): Result => {
  const known = clocks.filter((clock) => clock !== null);
  const differences = known.map(({ name, differenceMs }) => `${name}: ${differenceMs} ms`).join(', ');
  const message = `difference to ${differences}${known.length < clocks.length ? '; not compared with the service, which does not answer' : ''}`;
  const largest = Math.max(...known.map(({ differenceMs }) => Math.abs(differenceMs)));
  const advice = 'synchronize the clocks of all machines, for example with chrony or systemd-timesyncd';
  if (largest > MAX_CLOCK_DIFFERENCE_MS) return fail(message, advice);
  return largest > LARGE_CLOCK_DIFFERENCE_MS ? warn(message, advice) : ok(message);
};

export const checkClocks = async (client: pg.Client, serviceUrl: string): Promise<Result> =>
  judgeClocks([await postgresClock(client), await serviceClock(serviceUrl)]);

type Presented = { readonly certificate: PeerCertificate; readonly distrust: string | null };

const presentedCertificate = ({ hostname, port }: URL): Promise<Presented> =>
  new Promise((resolve, reject) => {
    const host = hostname.replace(/^\[(.*)\]$/, '$1');
    const socket = connect(
      { host, port: Number(port || HTTPS_PORT), servername: isIP(host) === 0 ? host : '', rejectUnauthorized: false, timeout: TIMEOUT_MS },
      () => {
        resolve({ certificate: socket.getPeerCertificate(), distrust: socket.authorized ? null : String(socket.authorizationError) });
        socket.end();
      },
    );
    socket.once('timeout', () => socket.destroy(new Error(`no answer within ${TIMEOUT_MS / 1_000} s`)));
    socket.once('error', reject);
  });

/** @throws Error if the certificate cannot be read */
export const checkCertificate = async (publicUrl: string): Promise<Result> => {
  if (!publicUrl.startsWith('https:')) return none('not checked: PUBLIC_URL does not begin with https://');
  const { certificate, distrust } = await presentedCertificate(new URL(publicUrl));
  const days = Math.floor((Date.parse(certificate.valid_to) - Date.now()) / DAY_MS);
  const message = `expires in ${counted(days, 'day')}, at ${certificate.valid_to}`;
  if (days < 0) return fail(`expired at ${certificate.valid_to}`, 'renew the certificate of PUBLIC_URL: webhook providers refuse it');
  if (distrust)
    return warn(`${message}; this machine does not trust it: ${distrust}`, 'use a certificate of a public authority for PUBLIC_URL');
  return days < MIN_CERTIFICATE_DAYS ? warn(message, 'renew the certificate of PUBLIC_URL') : ok(message);
};

const causeOf = (error: Error): string => String((error.cause as { code?: string } | undefined)?.code ?? error.message);

/** `isSet`: whether PUBLIC_URL is set. */
export const checkPublicUrl = async (publicUrl: string, isSet: boolean, { isKnown, platform }: Expected): Promise<Result> => {
  if (!isSet) return none('not checked: PUBLIC_URL is not set');
  const answer = await fetch(`${publicUrl}/readyz`, { signal: AbortSignal.timeout(TIMEOUT_MS) }).catch((error: Error) => error);
  if (answer instanceof Error)
    return warn(
      `${publicUrl} cannot be reached from this machine: ${causeOf(answer)}`,
      'check DNS, the proxy or the tunnel; ignore this if only other machines can reach it',
    );
  const status = (await answer.json().catch(() => null)) as { degraded?: unknown; platform?: string | null } | null;
  const advice = 'correct PUBLIC_URL, or the proxy or tunnel behind it';
  if (!Array.isArray(status?.degraded)) return fail(`another service answers at ${publicUrl}, not Annals`, advice);
  if (!isKnown || !status.platform) return ok(`${publicUrl} is reachable; not compared with the log`);
  return status.platform === platform
    ? ok(`${publicUrl} is reachable and leads to this platform`)
    : fail(`another platform answers at ${publicUrl}`, advice);
};
