drawSummary();
drawCharts(pickRewards);
drawLegend();
drawGrid(0);
fillEndings();
filter();
openFromAddress();
if (!('DecompressionStream' in window)) {
  byId('notes').append(make('li', {}, 'This browser is too old to unpack transcripts: use one of 2023 or later.'));
}
