import { test } from 'uvu';
import { equal } from 'uvu/assert';
import { threatsInName } from '../../domain/files/threats.ts';

const codesOf = (name: string, isMember: boolean): string[] => threatsInName(name, isMember).map(({ code }) => code);

const ONLY_IN_ARCHIVES: readonly (readonly [name: string, code: string])[] = [
  ['word/vbaProject.bin', 'macro'],
  ['vbaData.xml', 'macro'],
  ['Basic/Standard/Module1.xml', 'macro'],
  ['word/embeddings/oleObject1.bin', 'embedded_object'],
  ['xl/activeX/activeX1.bin', 'embedded_object'],
  ['inner.zip', 'nested_archive'],
];

for (const [name, code] of ONLY_IN_ARCHIVES)
  test(`the name ${name} is a threat (${code}) in an archive only, because it says nothing about a file alone`, () => {
    equal(codesOf(name, true), [code]);
    equal(codesOf(name, false), []);
  });

const ALWAYS: readonly (readonly [name: string, code: string])[] = [
  ['run.PS1', 'script'],
  ['setup.exe', 'executable'],
];

for (const [name, code] of ALWAYS)
  test(`the name ${name} is a threat (${code}) in an archive and for a file alone`, () => {
    equal(codesOf(name, true), [code]);
    equal(codesOf(name, false), [code]);
  });

for (const name of ['report.pdf', 'exe.txt', 'word/document.xml', 'zip'])
  test(`the name ${name} is no threat`, () => {
    equal(codesOf(name, true), []);
    equal(codesOf(name, false), []);
  });

test.run();
