import type { Config } from '../config.ts';

/** The warning for operators whose runners belong to the NATS account that holds the streams. */
export const SHARED_ACCOUNT =
  'runners share the NATS account of the platform, in which a runner can delete the messages to all agents: set NATS_RUNNER_ACCOUNT_SEED';

export const runnersShareAccount = ({
  natsAccountSeed,
  natsRunnerAccountSeed,
}: Partial<Pick<Config, 'natsAccountSeed' | 'natsRunnerAccountSeed'>>): boolean =>
  natsAccountSeed !== undefined && (natsRunnerAccountSeed === undefined || natsRunnerAccountSeed === natsAccountSeed);
