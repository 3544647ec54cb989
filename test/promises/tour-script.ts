import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ok } from 'uvu/assert';
import { blocksOf } from '../fixtures/documents.ts';

const TOUR = 'A five-minute tour';

/**
 * A shell command that lists the deliveries of the tour. It is repeated until a rejected delivery is listed, because a
 * rejection is recorded only after the response.
 */
const DELIVERIES = 'get "$ANNALS_URL/tenant/$TENANT/webhook-integrations/$(printf "%s\\n" "$HOOK" | pick .id)/deliveries"';

/** The commands of the tour that define its short commands and its tenant. They change nothing on the platform. */
export const tourDefinitions = (): string => {
  const [functions, tenant] = blocksOf(TOUR);
  ok(functions?.includes('annals()') && tenant?.startsWith('TENANT='), 'the tour begins with its short commands and its tenant');
  return `${functions}\n${tenant}`;
};

/**
 * Returns a script that runs the commands of the tour as a reader would. The block that starts the runner runs in a
 * second shell, which gets the line that the block before it printed; all other blocks run in one shell. The script
 * waits until the runner is ready, and later until the runner has printed the delivery. It ends if one of these waits
 * takes longer than a minute.
 */
export const tourScript = (shell: string, dir: string): string => {
  const tour = blocksOf(TOUR);
  const runner = tour.findIndex((commands) => commands.includes(' runner --agent'));
  const deliver = tour.findIndex((commands) => commands.startsWith('deliver()'));
  ok(runner > 0 && deliver === runner + 1, 'the tour starts a runner before it sends deliveries');
  const log = join(dir, 'runner.log');
  const waitFor = (text: string): string =>
    `for _ in $(seq 1 600); do grep -q '${text}' '${log}' && break; sleep 0.1; done; grep -q '${text}' '${log}'\n`;
  const inThirdTerminal = join(dir, 'third');
  writeFileSync(inThirdTerminal, `eval "$PASTED"\nexec ${tour[runner]!.trim()}\n`);
  return [
    ...tour.slice(0, runner),
    `PASTED="export ANNALS_URL=$ANNALS_URL ANNALS_KEY=$KEY" ANNALS_DATA='${dir}' ${shell} '${inThirdTerminal}' > '${log}' 2>&1 & RUNNER=$!\n`,
    waitFor('waiting for deliveries'),
    ...tour.slice(deliver, deliver + 1),
    waitFor('logically awesome'),
    `for _ in $(seq 1 100); do REFUSED=$(${DELIVERIES}); case $REFUSED in *rejected*) break;; esac; sleep 0.1; done; echo "$REFUSED"\n`,
    ...tour.slice(deliver + 1),
    ...blocksOf('Members'),
    ...blocksOf('Signing in'),
    `kill $RUNNER; wait $RUNNER; cat '${log}'\n`,
  ].join('\n');
};
