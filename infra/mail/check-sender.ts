import { isIP } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { authenticate, type DNSResolver } from 'mailauth';
import type { Authentication } from '../../domain/deliveries/mail-origin.ts';

/** In milliseconds. If the domain does not answer in time, the sender is recorded as not checked. */
export const AUTHENTICATION_TIMEOUT_MS = 10_000;

export type Envelope = { readonly ip: string; readonly helo: string; readonly sender: string; readonly mta: string };

type Verdict = { readonly status?: { readonly result?: string } } | false | undefined;

const resultOf = (verdict: Verdict): string => (verdict ? verdict.status?.result : undefined) ?? 'none';

/** The sender could not be checked; it need not be forged. */
export const NOT_CHECKED: Authentication = { spf: 'temperror', dkim: 'temperror', dmarc: 'temperror' };

/** A message has one result per signature; `pass` if one of them is `pass`. */
const bestOf = (results: readonly Verdict[] = []): string => {
  const found = results.map(resultOf);
  return found.includes('pass') ? 'pass' : (found[0] ?? 'none');
};

/** By default, DNS records are looked up as the system does. */
type CheckOptions = { readonly resolver?: DNSResolver; readonly timeoutMs?: number };

/** Checks whether a message comes from its claimed sender, by SPF, DKIM and DMARC. Never throws. */
export const checkSender = async (
  raw: Uint8Array,
  { ip, helo, sender, mta }: Envelope,
  { resolver, timeoutMs = AUTHENTICATION_TIMEOUT_MS }: CheckOptions = {},
): Promise<Authentication> => {
  const connection = { ip: isIP(ip) === 0 ? '127.0.0.1' : ip, helo, sender, mta };
  const options = { ...connection, disableArc: true, disableBimi: true, ...(resolver && { resolver }) };
  const checking = authenticate(Buffer.from(raw.buffer, raw.byteOffset, raw.length), options).then(
    ({ spf, dkim, dmarc }): Authentication => ({
      spf: resultOf(spf as Verdict),
      dkim: bestOf((dkim as { results?: readonly Verdict[] } | undefined)?.results),
      dmarc: resultOf(dmarc as Verdict),
    }),
    () => NOT_CHECKED,
  );
  return Promise.race([checking, sleep(timeoutMs, NOT_CHECKED, { ref: false })]);
};
