-- If every entry is a plain yes, their number says so.
--@needs entries
for _, reply in ipairs(replies) do
  if reply ~= 1 then return replies end
end
return #replies
