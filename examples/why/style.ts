/** Colours and type of the page and its pictures, light and dark. */

const LIGHT = `--ground:#fff;--card:#f7f9fb;--ink:#1d2733;--soft:#5c6979;--grid:#dfe5eb;--rail:#c9d2db;--belief:#2a78c2;
--bad:#c43a26;--good:#0f7a4f;--fault:#a86a00;--overlap:#d1462f29;--step:#fff;`;
const DARK = `--ground:#12171d;--card:#181f27;--ink:#e6ebf1;--soft:#9aa8b7;--grid:#27303a;--rail:#3a4653;--belief:#3d85c8;
--bad:#f0705a;--good:#3cc48d;--fault:#e3ac35;--overlap:#f0705a30;--step:#12171d;`;

export const STYLE = `:root{${LIGHT}color-scheme:light dark}
@media (prefers-color-scheme:dark){:root{${DARK}}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);font:15px/1.55 system-ui,-apple-system,'Segoe UI',Roboto,sans-serif}
main{max-width:1180px;margin:0 auto;padding:28px 20px 56px}
h1{font-size:28px;line-height:1.2;margin:0 0 8px}
h2{font-size:20px;line-height:1.3;margin:0 0 4px}
p{max-width:82ch;margin:0 0 14px}
a{color:inherit;text-underline-offset:3px;text-decoration-color:var(--rail)}
.lead{color:var(--soft);font-size:16px}
.surprise{color:var(--bad);font-weight:600}
table{border-collapse:separate;border-spacing:4px;width:100%;font-size:13.5px;table-layout:fixed}
thead th{font-weight:600;vertical-align:bottom;text-align:left;padding:4px 8px;color:var(--soft);font-size:12.5px;line-height:1.3}
tbody th{font-weight:600;text-align:left;padding:8px 8px 8px 0;line-height:1.3;vertical-align:top}
tbody td{border-radius:6px;padding:8px;vertical-align:top;background:var(--card);line-height:1.35;border-left:3px solid var(--rail)}
tbody td span{display:block;color:var(--soft);font-size:12.5px}
tbody td .way{display:none}
td.holds{border-left-color:var(--good)}td.holds b{color:var(--good)}
td.breaks{border-left-color:var(--bad)}td.breaks b{color:var(--bad)}
td.none{background:none}
.legend{display:flex;flex-wrap:wrap;gap:4px 20px;align-items:center;color:var(--soft);font-size:13px;margin:18px 0 0;max-width:none}
.legend span{white-space:nowrap}
.swatch,.dot{display:inline-block;width:26px;height:12px;border-radius:6px;margin-right:7px;vertical-align:-1px}
.swatch.belief{background:var(--belief)}
.swatch.overlap{background:var(--overlap);border-radius:3px;outline:1px solid var(--bad)}
.dot{width:12px;border:2px solid}
.dot.fault{border-color:var(--fault)}.dot.bad{border-color:var(--bad)}.dot.good{border-color:var(--good)}
section{margin-top:44px;padding-top:20px;border-top:1px solid var(--grid)}
.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,420px),1fr));gap:16px;margin:14px 0}
figure{margin:0;background:var(--card);border-radius:10px;padding:14px 16px 12px;border-top:3px solid var(--rail)}
figure.holds{border-top-color:var(--good)}figure.breaks{border-top-color:var(--bad)}
figcaption{display:flex;flex-wrap:wrap;gap:0 12px;justify-content:space-between;font-size:14px}
figure.holds figcaption span{color:var(--good)}figure.breaks figcaption span{color:var(--bad)}
figure svg{display:block;width:100%;height:auto;margin:8px 0 4px}
figure ol{margin:0;padding-left:24px;font-size:13.5px;line-height:1.5}
li.fault{color:var(--fault)}li.bad{color:var(--bad)}li.good{color:var(--good)}
li::marker{color:var(--soft);font-variant-numeric:tabular-nums}
.answer{border-left:3px solid var(--rail);padding-left:12px}
.about{margin-top:44px;color:var(--soft);font-size:13px}
svg.trial text{font:12px system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;fill:var(--ink)}
svg.trial .lane{font-weight:600;font-size:13px}
svg.trial .rail{stroke:var(--rail)}
svg.trial .belief{fill:var(--belief)}
svg.trial .overlap{fill:var(--overlap)}
svg.trial .step{fill:var(--step);stroke:var(--soft);stroke-width:2}
svg.trial .step.fault{stroke:var(--fault)}svg.trial .step.bad{stroke:var(--bad)}svg.trial .step.good{stroke:var(--good)}
svg.trial text.number{font-size:11px;font-weight:600}
@media (max-width:760px){
main{padding:20px 14px 40px}
h1{font-size:24px}
table,tbody,tr,tbody th,tbody td{display:block;width:auto}
thead{display:none}
tbody tr{margin-bottom:20px;display:grid;grid-template-columns:1fr 1fr;gap:6px}
tbody th{grid-column:1/-1;padding:0;font-size:15px}
tbody td .way{display:block;font-weight:600;color:var(--ink)}
}
`;
