import { z } from 'zod';
import { displayText } from '../../domain/fields.ts';
import * as FileScan from '../../domain/files/file-scan.ts';
import { type Finding, record, type ScannedFile, verdictOf } from '../../domain/files/file-scan.ts';
import type { Ctx, Loaded } from '../context.ts';
import { shownFilename } from './filename.ts';
import type { FileToScan, Threats } from './find-threats.ts';

export const MAX_SCANNED_BYTES = 25 * 1024 * 1024;
/** The maximum number of findings in a result: the worst ones. */
const MAX_FINDINGS = 100;

export const ScanFields = z.strictObject({
  resource_type: displayText(1, 64)
    .default('file')
    .meta({ description: 'What the file is for, such as `file`, `attachment` or `skill`; recorded only', examples: ['file'] }),
});

export type ScanPorts = {
  /** See find-threats.ts. The bytes are moved to a thread with a time limit, and cannot be used any more. Null if not checked within the limits. */
  readonly findThreats: (file: FileToScan) => Promise<Threats | null>;
  /** Returns the name of the threat. @throws Refusal unavailable */
  readonly findVirus: ((bytes: Uint8Array) => Promise<string | null>) | null;
};

/** The result for a file that takes too much time or memory: it must not seem to be harmless. */
const NOT_CHECKED: Threats = {
  content_type: 'application/octet-stream',
  findings: [
    {
      code: 'not_checked',
      verdict: 'suspicious',
      path: null,
      message: 'It was not checked completely, because that takes too much time or memory',
    },
  ],
};

const check = async ({ findThreats, findVirus }: ScanPorts, file: FileToScan): Promise<Threats> => {
  const virus = await findVirus?.(file.bytes);
  const { content_type, findings } = (await findThreats(file)) ?? NOT_CHECKED;
  const found = { code: 'malware', verdict: 'refused' as const, path: null, message: `The virus scanner found ${virus}` };
  return { content_type, findings: [...(virus ? [found] : []), ...findings] };
};

const byVerdict = (a: Finding, b: Finding): number => Number(b.verdict === 'refused') - Number(a.verdict === 'refused');

/** Without duplicates, the worst first. */
const listed = (findings: readonly Finding[]): Finding[] => {
  const unique = new Map(findings.map((one) => [`${one.code} ${one.path}`, one]));
  return [...unique.values()].sort(byVerdict).slice(0, MAX_FINDINGS);
};

type NewScan = FileToScan & { readonly sha256: string; readonly resource_type: string };

/** Records the result, and does not store the file. @throws Refusal unavailable if the virus scanner does not answer */
export const scanFile = async (ctx: Ctx, ports: ScanPorts, { sha256, resource_type, ...file }: NewScan): Promise<Loaded<object>> => {
  const size_bytes = file.bytes.length;
  const { content_type, findings } = await ctx.sideEffect(async () => {
    const threats = await check(ports, file);
    return { ...threats, findings: listed(threats.findings) };
  });
  const verdict = verdictOf(findings);
  const scanned: ScannedFile = {
    filename: shownFilename(file.filename),
    resource_type,
    size_bytes,
    sha256,
    content_type,
    verdict,
    findings: [...new Set(findings.map(({ code }) => code))],
  };
  const loaded = await ctx.transact(FileScan, ctx.newId(), record(scanned), { expectNew: true });
  return { ...loaded, state: { sha256, content_type, verdict, findings } };
};
