import { parseArgs } from 'node:util';
import { isClean } from './checker.ts';
import { withMovingStore } from './moving-store.ts';
import { withPlatform } from './platform.ts';
import { type Report, runTrial, TARGETS, type Target } from './trial.ts';

const MAX_SHOWN = 10;

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '20' },
    'per-second': { type: 'string', default: '50' },
    only: { type: 'string', multiple: true },
    'two-hosts': { type: 'boolean', default: false },
  },
});

const isTarget = (name: string): name is Target => (TARGETS as readonly string[]).includes(name);
const unknown = values.only?.find((name) => !isTarget(name));
if (unknown) throw new Error(`--only must be one of ${TARGETS.join(', ')}, not ${unknown}`);
const targets = values.only?.filter(isTarget) ?? TARGETS;

const printLine = (name: string, value: number | string): void => console.log(`${name.padEnd(44)}${String(value).padStart(8)}`);

const printReport = ({ kills, figures, findings }: Report): void => {
  for (const target of targets) {
    const times = kills.filter((kill) => kill.target === target).map(({ recoveryMs }) => recoveryMs);
    printLine(`kills of ${target}`, times.length);
    printLine('  maximum ms until its successor starts', Math.max(...times));
  }
  for (const [name, value] of Object.entries(figures)) printLine(name, value);
  for (const [name, lines] of Object.entries(findings)) {
    printLine(name, lines.length);
    for (const text of lines.slice(0, MAX_SHOWN)) console.log(`    ${text}`);
  }
};

await (values['two-hosts'] ? withMovingStore : withPlatform)(async (platform) => {
  const report = await runTrial(platform, {
    kills: Number(values.kills),
    perSecond: Number(values['per-second']),
    targets,
    onProgress: (text) => console.error(text),
  });
  printReport(report);
  process.exitCode = isClean(report.findings) ? 0 : 1;
});
