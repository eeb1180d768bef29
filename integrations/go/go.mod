module github.com/OWNER/picklock/integrations/go

go 1.20
