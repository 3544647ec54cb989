import { parseArgs } from 'node:util';
import { isClean } from './checker.ts';
import { startClientRunner } from './client-runner.ts';
import { deploy, type OutageReport, runKills, runStoreOutage, runWholeOutage } from './outage-trial.ts';
import { withPlatform } from './platform.ts';
import { startRunner } from './runners.ts';

const MAX_SHOWN = 10;
const FAULTS = ['F5', 'F6-frozen', 'F6-killed', 'F8'] as const;
type Fault = (typeof FAULTS)[number];

// F6 in full is --seconds 1800.
const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    'per-second': { type: 'string', default: '50' },
    kills: { type: 'string', default: '100' },
    only: { type: 'string', multiple: true },
  },
});

const isFault = (name: string): name is Fault => (FAULTS as readonly string[]).includes(name);
const unknown = values.only?.find((name) => !isFault(name));
if (unknown) throw new Error(`--only must be one of ${FAULTS.join(', ')}, not ${unknown}`);

const printReport = ({ figures, findings }: OutageReport): void => {
  for (const [name, value] of Object.entries(figures)) console.log(`${name.padEnd(44)}${String(value).padStart(8)}`);
  for (const [name, lines] of Object.entries(findings)) {
    console.log(`${name.padEnd(44)}${String(lines.length).padStart(8)}`);
    for (const text of lines.slice(0, MAX_SHOWN)) console.log(`    ${text}`);
  }
};

const options = {
  seconds: Number(values.seconds),
  perSecond: Number(values['per-second']),
  onProgress: (text: string) => console.error(text),
};
const trials: Record<Fault, (deployment: Awaited<ReturnType<typeof deploy>>) => Promise<OutageReport>> = {
  F5: (deployment) => runKills(deployment, Number(values.kills)),
  'F6-frozen': (deployment) => runStoreOutage(deployment, 'frozen', options),
  'F6-killed': (deployment) => runStoreOutage(deployment, 'killed', options),
  F8: (deployment) => runWholeOutage(deployment, options),
};

for (const fault of values.only?.filter(isFault) ?? FAULTS)
  await withPlatform(async (platform) => {
    console.log(`\n${fault}`);
    // A runner that starts a command for each delivery would be slower than the load.
    const start = fault.startsWith('F6') ? startClientRunner : startRunner;
    const report = await trials[fault](await deploy(platform, start));
    printReport(report);
    if (!isClean(report.findings)) process.exitCode = 1;
  });
