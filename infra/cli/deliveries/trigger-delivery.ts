import { randomUUID } from 'node:crypto';
import { PROVIDERS, type Provider } from '../../../domain/integrations/provider.ts';
import { presetOf } from '../../../domain/integrations/provider-preset.ts';
import { sampleEvents, sampleOf, sampleRequest } from '../../../domain/integrations/sample-delivery.ts';
import { canSign, signatureHeaders } from '../../../domain/integrations/sign-delivery.ts';
import { trimPasted } from '../../../domain/pasted-text.ts';
import { printErrorLine, printLine } from '../../logging/print-line.ts';
import { isWebUrl, usageError } from '../arguments.ts';

const RESPONSE_TIMEOUT_MS = 30_000;
const USER_AGENT = 'annals-trigger';

export type TriggerOptions = {
  readonly provider: string;
  readonly event?: string | undefined;
  readonly url?: string | undefined;
  readonly secret?: string | undefined;
};

const providerOf = (name: string): Provider => {
  const provider = PROVIDERS.find((one) => one === name);
  if (!provider) throw usageError(`There is no provider ${name}; the providers are ${PROVIDERS.join(', ')}`);
  return provider;
};

const describe = (provider: Provider): string => `${provider}: ${sampleEvents(provider).join(', ') || '(a sample without an event)'}`;

/** @throws a usage error */
export const listSamples = (provider: string | undefined): void => {
  const shown = provider === undefined ? PROVIDERS : [providerOf(provider)];
  for (const one of shown) printLine(describe(one));
};

/** @throws a usage error that lists the providers, or the events of the provider for which there are samples */
export const checkedSample = (name: string, event: string | undefined) => {
  const provider = providerOf(name);
  const sample = sampleOf(provider, event);
  if (!sample) throw usageError(`There is no sample of ${event}; ${describe(provider)}`);
  return { provider, sample };
};

/** Returns the exit code: 0 if the delivery was recorded, 1 if it was refused or nothing answers. @throws a usage error */
export const triggerDelivery = async ({ provider: name, event, url, secret }: TriggerOptions): Promise<number> => {
  const { provider, sample } = checkedSample(name, event);
  if (url === undefined || !isWebUrl(url)) throw usageError('--url must be the URL of a webhook integration');
  if (secret === undefined) throw usageError('--secret must be the secret of the integration');
  const owner = { provider, delivery_id_source: null, options: {} };
  const { scheme } = presetOf(owner);
  if (!canSign(scheme)) throw usageError(`only ${provider} itself can sign: the secret of an integration is a public key`);
  const now = Date.now();
  const { headers, body } = sampleRequest(owner, sample, randomUUID(), new Date(now).toISOString());
  const unsigned = { body: Buffer.from(body), url: () => url, header: (wanted: string) => headers[wanted] };
  const signed = signatureHeaders(scheme, unsigned, scheme.key(trimPasted(secret)), Math.floor(now / 1000));
  try {
    const init = { method: 'POST', headers: { 'user-agent': USER_AGENT, ...headers, ...signed }, body };
    const response = await fetch(url, { ...init, redirect: 'error', signal: AbortSignal.timeout(RESPONSE_TIMEOUT_MS) });
    printLine(`${response.status} ${await response.text()}`);
    return response.ok ? 0 : 1;
  } catch (error) {
    const { message, cause } = error as Error & { cause?: { code?: string } };
    printErrorLine(`${new URL(url).origin} does not answer: ${cause?.code ?? message}`);
    return 1;
  }
};
