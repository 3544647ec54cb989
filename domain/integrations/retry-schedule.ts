import { HOUR } from './conventions/delays.ts';
import type { RetrySchedule } from './conventions/provider-definition.ts';
import { PROVIDER_DEFINITIONS, type Provider } from './provider.ts';

/** How long after the first attempt the last one is made; counts only attempts that the provider makes on its own. */
export const lastAttemptSeconds = ({ delaysSeconds }: RetrySchedule): number => delaysSeconds.reduce((sum, seconds) => sum + seconds, 0);

/** How much later than scheduled an attempt may come: the provider waits for answers, or is late. */
const MAX_DELAY_SECONDS = HOUR;

/** How old a signed time may be if the provider sends the same bytes again. */
export const sameBytesAge = (retries: RetrySchedule): number => lastAttemptSeconds(retries) + MAX_DELAY_SECONDS;

/** Whether the provider sends a delivery again on its own. False if the senders are not known. */
export const triesAgain = (provider: Provider): boolean => (PROVIDER_DEFINITIONS[provider].retries?.delaysSeconds.length ?? 0) > 0;
