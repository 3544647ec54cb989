import { parseArgs } from 'node:util';
import { isClean } from './checker.ts';
import { withPlatform } from './platform.ts';
import { type Report, TARGETS, type Target, trial } from './trial.ts';

const MAX_SHOWN = 10;

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '20' },
    'per-second': { type: 'string', default: '50' },
    only: { type: 'string', multiple: true },
  },
});

const isTarget = (name: string): name is Target => (TARGETS as readonly string[]).includes(name);
const unknown = values.only?.find((name) => !isTarget(name));
if (unknown) throw new Error(`--only must be one of ${TARGETS.join(', ')}, not ${unknown}`);
const targets = values.only?.filter(isTarget) ?? TARGETS;

const line = (name: string, value: number | string): void => console.log(`${name.padEnd(44)}${String(value).padStart(8)}`);

const print = ({ kills, figures, findings }: Report): void => {
  for (const target of targets) {
    const times = kills.filter((kill) => kill.target === target).map(({ backMs }) => backMs);
    line(`kills of ${target}`, times.length);
    line(`  its successor begins, ms at most`, Math.max(...times));
  }
  for (const [name, value] of Object.entries(figures)) line(name, value);
  for (const [name, lines] of Object.entries(findings)) {
    line(name, lines.length);
    for (const text of lines.slice(0, MAX_SHOWN)) console.log(`    ${text}`);
  }
};

await withPlatform(async (platform) => {
  const report = await trial(platform, {
    kills: Number(values.kills),
    perSecond: Number(values['per-second']),
    targets,
    say: (text) => console.error(text),
  });
  print(report);
  process.exitCode = isClean(report.findings) ? 0 : 1;
});
