import { z } from 'zod';
import { sha256Of } from '../../domain/digest.ts';
import { displayText } from '../../domain/fields.ts';
import * as FileScan from '../../domain/files/file-scan.ts';
import { type Finding, record, type ScannedFile, verdictOf } from '../../domain/files/file-scan.ts';
import { mismatchOf, threatsInBytes, threatsInName } from '../../domain/files/threats.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { Ctx, Loaded } from '../context.ts';
import type { Unpack } from '../skills/archive.ts';
import type { DetectContentType } from './content-type.ts';
import { shownFilename } from './filename.ts';

export const MAX_SCANNED_BYTES = 25 * 1024 * 1024;
/** The maximum number of listed findings. If there are more, the worst ones are listed. */
const MAX_FINDINGS = 100;

/** A schema for the text fields of the form. */
export const ScanFields = z.strictObject({
  resource_type: displayText(1, 64)
    .default('file')
    .meta({ description: 'What the file is for, such as `file`, `attachment` or `skill`; recorded only', examples: ['file'] }),
});

/** The functions of infra/ that the scan of files needs. */
export type ScanPorts = {
  readonly detectContentType: DetectContentType;
  readonly unpack: Unpack;
  /**
   * Checks a file with a virus scanner. Returns the name of the threat that the scanner found; null if it found none.
   * @throws Refusal unavailable
   */
  readonly findVirus: ((bytes: Uint8Array) => Promise<string | null>) | null;
};

export type FileToScan = { readonly bytes: Uint8Array; readonly filename: string; readonly contentType: string | null };

const isZip = (bytes: Uint8Array): boolean => bytes[0] === 0x50 && bytes[1] === 0x4b && bytes[2] === 3 && bytes[3] === 4;

/** Unpacks an archive in memory and checks its members. An archive that breaks a rule is refused. */
const findingsInArchive = async ({ unpack, detectContentType }: ScanPorts, bytes: Uint8Array): Promise<Finding[]> => {
  const heads: { readonly path: string; readonly head: Uint8Array }[] = [];
  const found: Finding[] = [];
  const inspect = (path: string, head: Uint8Array): void => {
    const findings = [...threatsInName(path, true), ...(head.length > 0 ? threatsInBytes(head, '') : [])];
    found.push(...findings.map((one) => ({ ...one, path })));
    // The first bytes show the type. Keeping more of each file could add up to the whole archive.
    heads.push({ path, head: head.slice(0, 4_096) });
  };
  try {
    await unpack(bytes, { isKept: () => false, maxBytes: 0, inspect });
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'invalid') throw error;
    return [...found, { code: error.extra.errors?.[0]?.code ?? 'damaged', verdict: 'refused', path: null, message: error.message }];
  }
  for (const { path, head } of heads) {
    const type = await detectContentType(head);
    const findings = threatsInBytes(head, type).filter(({ code }) => !found.some((one) => one.path === path && one.code === code));
    found.push(...findings.map((one) => ({ ...one, path })));
  }
  return found;
};

const findingsIn = async (ports: ScanPorts, { bytes, filename, contentType }: FileToScan, type: string): Promise<Finding[]> => {
  const virus = await ports.findVirus?.(bytes);
  const ofFile = [...threatsInName(filename, false), ...mismatchOf(contentType, type), ...threatsInBytes(bytes, type)];
  return [
    ...(virus ? [{ code: 'malware', verdict: 'refused' as const, path: null, message: `The virus scanner found ${virus}` }] : []),
    ...ofFile.map((one) => ({ ...one, path: null })),
    ...(isZip(bytes) ? await findingsInArchive(ports, bytes) : []),
  ];
};

const byVerdict = (a: Finding, b: Finding): number => Number(b.verdict === 'refused') - Number(a.verdict === 'refused');

/** Returns the findings without duplicates, the worst first. */
const listed = (findings: readonly Finding[]): Finding[] => {
  const unique = new Map(findings.map((one) => [`${one.code} ${one.path}`, one]));
  return [...unique.values()].sort(byVerdict).slice(0, MAX_FINDINGS);
};

/**
 * Checks a file for threats, and records the result. The file is not stored.
 * @throws Refusal unavailable if the virus scanner does not answer
 */
export const scanFile = async (ctx: Ctx, ports: ScanPorts, file: FileToScan, resource_type: string): Promise<Loaded<object>> => {
  const { sha256, content_type, findings } = await ctx.sideEffect(async () => {
    const content_type = await ports.detectContentType(file.bytes);
    return { sha256: sha256Of(file.bytes), content_type, findings: listed(await findingsIn(ports, file, content_type)) };
  });
  const verdict = verdictOf(findings);
  const scanned: ScannedFile = {
    filename: shownFilename(file.filename),
    resource_type,
    size_bytes: file.bytes.length,
    sha256,
    content_type,
    verdict,
    findings: [...new Set(findings.map(({ code }) => code))],
  };
  const loaded = await ctx.transact(FileScan, ctx.newId(), record(scanned), { expectNew: true });
  return { ...loaded, state: { sha256, content_type, verdict, findings } };
};
