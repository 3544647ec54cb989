import { test } from 'uvu';
import { equal, is, match, ok } from 'uvu/assert';
import { SERVICES } from '../../infra/cli/systemd-unit.ts';
import { VARIABLES_OF } from '../../infra/cli/variable-help.ts';
import { variableNames } from '../../infra/config.ts';
import { startProgram } from '../fixtures/child-process.ts';

const OF_CLIENTS = ['ANNALS_URL', 'ANNALS_KEY'];

test('annals start reads every environment variable except those of clients, and so do annals serve and annals work together', () => {
  const effective = variableNames.filter((name) => !OF_CLIENTS.includes(name));
  equal([...VARIABLES_OF.start].sort(), effective.sort());
  equal([...new Set([...VARIABLES_OF.serve, ...VARIABLES_OF.work])].sort(), effective);
});

for (const service of SERVICES)
  test(`annals ${service} --help lists exactly the environment variables that annals ${service} reads, each with a description`, async () => {
    const running = startProgram(process.execPath, ['infra/main.ts', service, '--help']);
    is(await running.ended, 0);
    const [, text = ''] = running.output().split('ENVIRONMENT VARIABLES\n\n');
    const lines = text.trimEnd().split('\n');
    equal(
      lines.map((line) => line.trim().split(' ')[0]),
      VARIABLES_OF[service],
    );
    for (const line of lines) match(line, /^ {2}[A-Z_<>]+ +[^ ].{10}/);
    ok(lines.some((line) => /PORT +where the API listens\..* \(default: 4100\)$/.test(line)));
  });

test.run();
