import type { Config } from '../config.ts';
import { pingClamav } from '../files/clamav.ts';
import { fail, none, ok, type Result } from './finding.ts';

export const checkClamav = async ({ clamavUrl }: Pick<Config, 'clamavUrl'>): Promise<Result> => {
  if (!clamavUrl) return none('CLAMAV_URL is not set: files are checked without a virus scanner');
  const isUp = await pingClamav(clamavUrl).catch(() => false);
  return isUp ? ok('ClamAV answers') : fail('ClamAV does not answer', 'start clamd with TCPSocket, or correct CLAMAV_URL');
};
