import { HOUR } from './conventions/delays.ts';
import type { RetrySchedule } from './conventions/provider-definition.ts';
import { PROVIDER_DEFINITIONS, type Provider } from './provider.ts';

/** After the first attempt; only those that the provider makes on its own. */
export const lastAttemptSeconds = ({ delaysSeconds }: RetrySchedule): number => delaysSeconds.reduce((sum, seconds) => sum + seconds, 0);

/** How much later than scheduled an attempt may come: the provider waits for answers, or is late. */
const MAX_DELAY_SECONDS = HOUR;

/** How old a signed time may be if the provider sends the same bytes again. */
export const sameBytesAge = (retries: RetrySchedule): number => lastAttemptSeconds(retries) + MAX_DELAY_SECONDS;

/** On its own. False if the senders are not known. */
export const triesAgain = (provider: Provider): boolean => (PROVIDER_DEFINITIONS[provider].retries?.delaysSeconds.length ?? 0) > 0;
