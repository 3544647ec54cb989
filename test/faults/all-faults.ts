import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { BROKER_DAMAGES, BROKER_OUTAGES, runBrokerDamage, runBrokerOutage } from './broker-faults.ts';
import { isClean } from './checker.ts';
import { startClientRunner } from './client-runner.ts';
import { runCronKills, withCronTarget } from './cron-kills.ts';
import { runConcurrentCopies, runLateRedeliveries, runSimilarIds, startOtherProcesses } from './delivery-id-faults.ts';
import { runMailKills, withMailPort } from './mail-kills.ts';
import { withMovingStore } from './moving-store.ts';
import { deploy, type OutageReport, runKills, runStoreOutage, runWholeOutage } from './outage-trial.ts';
import { type Platform, withPlatform } from './platform.ts';
import { runBadRunners, runRunnerKills } from './runner-faults.ts';
import { runSecretRotations } from './secret-rotation.ts';
import { runTrial, TARGETS } from './trial.ts';

// This program injects all faults at full length, which takes hours: `npm run faults`. `-- --only F6-frozen` selects
// one fault. `-- --share 0.01` shortens all of them to a hundredth of the kills, deliveries and durations. The labels
// F1 to F27 are those in shared/notes/reliability.md. With `-- --two-hosts`, the event store has a URL of two hosts, and
// moves to the other one each time it ends.

const MAX_SHOWN = 10;
const MINUTE = 60;

const { values } = parseArgs({
  options: {
    share: { type: 'string', default: '1' },
    'per-second': { type: 'string', default: '50' },
    only: { type: 'string', multiple: true },
    'two-hosts': { type: 'boolean', default: false },
  },
});
const share = Number(values.share);
const perSecond = Number(values['per-second']);
const withStore = values['two-hosts'] ? withMovingStore : withPlatform;

const part = (full: number, min: number): number => Math.max(min, Math.round(full * share));
const outage = (fullSeconds: number) => ({
  seconds: part(fullSeconds, 5),
  perSecond,
  onProgress: (text: string) => console.error(text),
});

/**
 * Deploys runners that are faster than the load. The measured delay is then that of the platform, not that of a runner.
 */
const deployFast = (platform: Platform) => deploy(platform, startClientRunner);

type Trial = (platform: Platform) => Promise<OutageReport>;

const brokerOutages = BROKER_OUTAGES.map((kind): [string, Trial] => [
  `F12-${kind}`,
  async (platform) => runBrokerOutage(await deployFast(platform), kind, outage(10 * MINUTE)),
]);
const brokerDamages = BROKER_DAMAGES.map((damage): [string, Trial] => [
  `F13-${damage}`,
  async (platform) => runBrokerDamage(await deployFast(platform), damage, part(5_000, 40)),
]);

/**
 * Maps the label of a fault to a function that injects the fault and checks the result. The function of `F1-F4,F7`
 * kills serve, work, Postgres, the event store, the broker and runners.
 */
const FAULTS: Readonly<Record<string, Trial>> = {
  'F1-F4,F7': (platform) => runTrial(platform, { kills: part(200, 3), perSecond, targets: TARGETS }),
  F5: async (platform) => runKills(await deploy(platform), part(100, 4)),
  'F6-stopped': async (platform) => runStoreOutage(await deployFast(platform), 'killed', outage(30 * MINUTE)),
  'F6-frozen': async (platform) => runStoreOutage(await deployFast(platform), 'frozen', outage(30)),
  F8: async (platform) => runWholeOutage(await deploy(platform), outage(200)),
  ...Object.fromEntries([...brokerOutages, ...brokerDamages]),
  F9: async (platform) => runConcurrentCopies(await deployFast(platform), await startOtherProcesses(platform), part(1_000, 5)),
  F10: async (platform) => runLateRedeliveries(await deployFast(platform), await platform.startServeProcess(), part(1_000, 10)),
  F11: async (platform) => runSimilarIds(await deployFast(platform), part(10_000, 20)),
  F14: (platform) => runRunnerKills(platform, part(1_000, 2)),
  F15: (platform) => runBadRunners(platform, share < 1 ? { count: 3, slowMs: 5_000, ackWaitMs: 1_500 } : { count: 20, slowMs: 60_000 }),
  F26: async (platform) =>
    runSecretRotations(await deployFast(platform), { rotations: part(50, 2), overlapSeconds: share < 1 ? 5 : 30, perSecond }),
};

/**
 * The label of the fault that kills the worker while cron jobs fire. It is not in `FAULTS`, because its platform must
 * be allowed to call a target on this machine.
 */
const CRON_FAULT = 'F27';
/** The fault that kills processes while mail arrives. Its platform listens for SMTP. */
const MAIL_FAULT = 'mail-kills';
const NAMES: readonly string[] = [...Object.keys(FAULTS), CRON_FAULT, MAIL_FAULT];

const unknown = values.only?.find((name) => !NAMES.includes(name));
if (unknown) throw new Error(`--only must be one of ${NAMES.join(', ')}, not ${unknown}`);

const printLine = (name: string, value: number): void => console.log(`${name.padEnd(44)}${String(value).padStart(8)}`);

const printReport = ({ figures, findings }: OutageReport): void => {
  for (const [name, value] of Object.entries(figures)) printLine(name, value);
  for (const [name, lines] of Object.entries(findings)) {
    printLine(name, lines.length);
    for (const text of lines.slice(0, MAX_SHOWN)) console.log(`    ${text}`);
  }
  printLine('load average of the machine', Math.round(loadavg()[1]!));
};

const runCron = (): Promise<void> =>
  withCronTarget((target, variables) => withStore((platform) => printTrial(runCronKills(platform, target, part(200, 5))), variables));

const runMail = (): Promise<void> =>
  withMailPort((port, variables) =>
    withStore((platform) => printTrial(runMailKills(platform, { port, messages: part(1_000, 60), kills: part(10, 2) })), variables),
  );

const printTrial = async (trial: Promise<OutageReport>): Promise<void> => {
  const report = await trial;
  printReport(report);
  if (!isClean(report.findings)) process.exitCode = 1;
};

const OWN_PLATFORM: Readonly<Record<string, () => Promise<void>>> = { [CRON_FAULT]: runCron, [MAIL_FAULT]: runMail };

for (const fault of values.only ?? NAMES) {
  console.log(`\n${fault}`);
  await (OWN_PLATFORM[fault]?.() ?? withStore((platform) => printTrial(FAULTS[fault]!(platform))));
}
process.exit();
